"""What an exported package carries beside the monitor: self-check, softmax, projection; C against Python."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cortex import CROSS, compile_for_m4, link_for_m4, need, run_on_m4
from exported import FULL, LIBRARIES
from places import ROOT
from refusals import refused
from tiers import first_quick

from tcuq import SIGNALS, EvidenceHead, Monitor, Params
from tcuq.export import export, integer_projection, load_projection, posteriors, softmax_table, sources
from tcuq.export.contents import Contents
from tcuq.export.selfcheck import SelfCheck
from tcuq.monitor.heads import InstantHead
from tcuq_device.cost.stock import standard

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
SANE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
PACKAGES: dict[str, tuple[Params, dict[str, Any]]] = {
    "posteriors": (Params(classes=10), {}),
    "every signal": (FULL, {}),
    "both": LIBRARIES["everything"],
    "gauges": LIBRARIES["gauges"],
    "standard": (standard("standard, bet"), {"logits_scale": 0.1}),
    "names": (standard("standard").replace(names=[f"{k}*/" for k in range(10)]), {}),
    "no past": (Params(classes=2, signals=("doubt",), lags=(), warmup=2**32 - 1), {}),
    "largest": (
        Params(
            classes=1000,
            features=256,
            lags=(64,),
            signals=SIGNALS,
            evidence=EvidenceHead({"odds": 1.0, "degradation": 1.0}, [0.0] * 1000),
            instant=InstantHead({}, 0.0),
            centers=[[k % 100] * 256 for k in range(1000)],
        ),
        {},
    ),
}


def checked(folder: Path, *flags: str, ring: str = "sizeof ring") -> int:
    """Build the self-check of a package on this machine and return what it says."""
    (folder / "check.c").write_text(
        '#include <stdio.h>\n#include "monitor.h"\n#include "monitor_selfcheck.h"\n'
        "int main(void) { static uint32_t ring[MONITOR_RING_BYTES / 4u];\n"
        f'printf("%d\\n", monitor_selfcheck(ring, {ring})); return 0; }}\n'
    )
    files = [file.name for file in folder.glob("*.c") if file.name != "main.c"]
    subprocess.run(["cc", *STRICT, *flags, *files, "-o", "check"], cwd=folder, check=True)
    return int(subprocess.run([folder / "check"], check=True, capture_output=True, text=True).stdout)


def changed(folder: Path, file: str, pattern: str, value: str) -> None:
    text = (folder / file).read_text()
    new = re.sub(pattern, value, text, count=1, flags=re.S)
    assert new != text
    (folder / file).write_text(new)


HARDEST = ("both", "gauges", "names")
"""Packages with most of what a package can have."""

# The self-check.


@needs_cc
@pytest.mark.parametrize("case", first_quick(sorted(PACKAGES, key=lambda name: name not in HARDEST), 3))
def test_the_self_check_passes(tmp_path: Path, case: str) -> None:
    params, more = PACKAGES[case]
    export(params, tmp_path / "c", **more)
    assert checked(tmp_path / "c", *SANE) == 0
    flags = re.findall(r"-DTCUQ_\w+=\w+(?= )", (tmp_path / "c" / "monitor.h").read_text().split("*/")[1])
    assert len(flags) == 1
    assert checked(tmp_path / "c", "-Ofast", *flags) == 0


@pytest.mark.parametrize("case", first_quick(["gauges", "names", "posteriors", "both", "standard"]))
def test_the_self_check_passes_on_a_cortex_m4(tmp_path: Path, case: str) -> None:
    params, more = PACKAGES[case]
    folder = tmp_path / "c"
    export(params, folder, "kws", **more)
    (folder / "main.c").write_text(
        '#include "kws.h"\n#include "kws_selfcheck.h"\nint main(void);\nint main(void)\n{\n'
        "    static uint32_t ring[KWS_RING_BYTES / 4u];\n    return kws_selfcheck(ring, sizeof ring);\n}\n"
    )

    def said() -> int:
        objects = [compile_for_m4(file, file.with_suffix(".o")) for file in sorted(folder.glob("*.c"))]
        return run_on_m4(link_for_m4(objects, tmp_path / "check.elf"))[0]

    assert said() == 0
    # The emulator must be able to say otherwise.
    changed(folder, "kws_selfcheck.c", r"~outputs != (\d+)", r"~outputs != 1 + \1")
    assert said() == -10 % 256


def test_a_wide_monitor_has_a_self_check_of_a_few_kilobytes() -> None:
    largest = SelfCheck(Contents(PACKAGES["largest"][0]))
    assert not largest.saves and largest.steps < 2**15
    assert len(sources(PACKAGES["largest"][0])["monitor_selfcheck.c"]) < 12_000


@needs_cc
def test_the_example_takes_logits_and_wide_features(tmp_path: Path) -> None:
    params, more = PACKAGES["both"]
    export(params, tmp_path / "c", **more)
    folder = tmp_path / "c"
    files = [file.name for file in folder.glob("*.c")]
    subprocess.run(["cc", *STRICT, *files, "-o", "try"], cwd=folder, check=True)
    rng = np.random.default_rng(5)
    logits, wide = (rng.integers(-128, 128, (200, n)).astype(np.int8) for n in (7, 48))
    text = "\n".join(" ".join(map(str, row)) for row in np.hstack([logits, wide]).tolist())
    done = subprocess.run([folder / "try"], input=text, capture_output=True, text=True, check=True)
    got = np.array([line.split()[:2] for line in done.stdout.splitlines()], int)
    steps = Monitor(params).run(posteriors(logits, softmax_table(0.12)), more["projection"](wide))
    assert (got[:, 1] == steps["risk"] * 65536).all() and (got[:, 0] == steps["answer"]).all()
    assert len(np.unique(got[:, 1])) > 50


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "compiler", ["g++ -x c++ -std=c++11", "gcc -std=c99", "clang -std=c99", "clang++ -x c++"]
)
def test_no_warnings_from_any_file(tmp_path: Path, compiler: str) -> None:
    tool, *flags = compiler.split()
    need(tool, tool)
    params, more = PACKAGES["both"]
    export(params, tmp_path / "c", **more)
    files = sorted(file.name for file in (tmp_path / "c").glob("*.c"))
    command = [tool, *flags, *STRICT[1:], "-O2", *files, "-o", "try"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    assert subprocess.run([tmp_path / "c" / "try"], stdin=subprocess.DEVNULL).returncode == 0


def test_the_constants_are_as_large_as_the_package_says(tmp_path: Path) -> None:
    for case in ("gauges", "standard"):
        params, more = PACKAGES[case]
        folder = tmp_path / case
        export(params, folder, **more)
        made = compile_for_m4(folder / "monitor.c", tmp_path / "monitor.o")
        tool = need("arm-none-eabi-size", CROSS)
        listed = subprocess.run([tool, made], capture_output=True, text=True, check=True).stdout
        text, data = listed.splitlines()[1].split()[:2]
        said = Contents(params, **more).constant_bytes
        assert said <= int(text) + int(data) < said + 16


# The softmax.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if CC is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("parts")
    here = ROOT / "src" / "tcuq" / "export" / "c"
    files = [str(here / "tcuq_softmax.c"), str(here / "tcuq_projection.c")]
    subprocess.run(
        [CC, *STRICT, "-O2", "-shared", "-fPIC", *files, "-o", str(folder / "parts.so")], check=True
    )
    return ctypes.CDLL(str(folder / "parts.so"))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def plain_softmax(logits: list[int], table: list[int]) -> list[int]:
    """Python's integers, one at a time."""
    top = max(logits)
    shares = [table[top - logit] for logit in logits]
    total = sum(shares)
    return [min((share * 512 + total) // (2 * total), 255) - 128 for share in shares]


@pytest.mark.parametrize("scale", [1e-6, 0.004, 0.12, 1.0, 1000.0])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_softmax_in_c_numpy_and_plain_integers(library: ctypes.CDLL, scale: float, classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = rng.integers(-128, 128, (20, classes)).astype(np.int8)
    rows[0], rows[1], rows[2], rows[2, -1] = 127, -128, -128, 127
    table = softmax_table(scale)
    wanted = [plain_softmax(row, table.tolist()) for row in rows.tolist()]
    assert posteriors(rows, table).tolist() == wanted
    for row, expected in zip(rows, wanted, strict=True):
        out = np.empty(classes, np.int8)
        library.tcuq_softmax(pointer(table), pointer(row), ctypes.c_size_t(classes), pointer(out))
        assert out.tolist() == expected
        library.tcuq_softmax(pointer(table), pointer(row), ctypes.c_size_t(classes), pointer(row))
        assert row.tolist() == expected  # in place


def test_posteriors_are_within_one_unit_of_the_real_ones() -> None:
    rng = np.random.default_rng(0)
    for scale in (0.02, 0.12, 0.5):
        logits = rng.integers(-128, 128, (500, 10)).astype(np.int8)
        real = np.exp(scale * (logits.astype(float) - logits.max(axis=1, keepdims=True).astype(float)))
        real /= real.sum(axis=1, keepdims=True)
        got = posteriors(logits, softmax_table(scale)).astype(float) + 128
        assert np.abs(got - np.minimum(real * 256, 255)).max() < 1


def test_logits_of_another_kind_are_refused() -> None:
    for bad in (np.zeros((2, 2), np.int16), np.zeros(3, np.int8)):
        with refused("value"):
            posteriors(bad, softmax_table(0.1))


# The projection.


class Projection(ctypes.Structure):
    """The layout of tcuq_projection_t."""

    _fields_ = (
        ("matrix", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("shift", ctypes.c_void_p),
        ("inputs", ctypes.c_uint16),
        ("outputs", ctypes.c_uint16),
    )


def plain_projection(
    matrix: list[list[int]], bias: list[int], shift: list[int], wide: list[int]
) -> list[int]:
    found = []
    for row, more, down in zip(matrix, bias, shift, strict=True):
        total = more + sum(a * b for a, b in zip(row, wide, strict=True))
        assert -(2**31) <= total < 2**31
        found.append(max(-128, min(127, total // 2**down)))
    return found


@pytest.mark.parametrize("kind", ["average", "rotation"])
@pytest.mark.parametrize("width", [33, 64, 1280])
def test_projection_in_c_numpy_and_plain_integers(library: ctypes.CDLL, kind: str, width: int) -> None:
    rng = np.random.default_rng(width)
    scale, zero = 0.04, -128
    wide = np.clip(rng.normal(-60, 60, (60, width)), -128, 127).astype(np.int8)
    wide[0], wide[1] = -128, 127
    wide[2, ::2], wide[2, 1::2] = -128, 127
    real = (wide.astype(float) - zero) * scale
    if kind == "average":
        group = np.arange(width) * 32 // width
        matrix = (group[:, None] == np.arange(32)) / np.bincount(group)
    else:
        matrix = np.linalg.qr(rng.normal(size=(width, 32)))[0]
    offset = rng.normal(size=32)
    out = real @ matrix + offset
    params = Params(classes=2, features=32, feature_scale=float(np.ptp(out)) / 255, feature_zero_point=-20)
    found = integer_projection(matrix, offset, scale, zero, params)
    assert found.inputs == width and found.outputs == 32 and np.abs(found.matrix.astype(int)).max() >= 64
    got = found(wide)
    lists = [part.tolist() for part in (found.matrix, found.bias, found.shift)]
    assert got.tolist() == [plain_projection(*lists, row) for row in wide.tolist()]
    held = Projection(*(part.ctypes.data for part in (found.matrix, found.bias, found.shift)), width, 32)
    for row, expected in zip(wide, got, strict=True):
        features = np.empty(32, np.int8)
        library.tcuq_project(ctypes.byref(held), pointer(row), pointer(features))
        assert (features == expected).all()
    # Half a unit of rounding at the end, and half a unit of each weight before.
    exact = np.clip(out / params.feature_scale - 20, -128, 127)
    bound = 0.501 + (0.5 * np.abs(wide.astype(float) - zero).sum(axis=1)[:, None] + 0.5) / 2.0**found.shift
    assert (np.abs(got - exact) <= bound).all()
    assert np.abs(got - exact).mean() < 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"matrix": np.ones((8, 3)), "offset": None}, "conflict"),
        ({"matrix": np.ones(8)}, "value"),
        ({"matrix": np.ones((0, 4))}, "value"),
        ({"matrix": np.full((8, 4), np.nan)}, "value"),
        ({"matrix": np.full((8, 4), "a")}, "missing"),
        ({"matrix": np.full((8, 4), 1e5)}, "value"),
        ({"offset": np.ones(3)}, "value"),
        ({"offset": np.full(4, 1e12)}, "value"),
        ({"scale": 0.0}, "value"),
        ({"scale": np.ones(2)}, "value"),
        ({"zero_point": 200}, "value"),
        ({"zero_point": 0.5}, "value"),
        ({"zero_point": None}, "missing"),
    ],
)
def test_projections_that_are_refused(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    arrays = {"matrix": np.ones((8, 4)), "offset": np.zeros(4), "scale": 0.1, "zero_point": -128} | change
    np.savez(tmp_path / "p.npz", **{key: value for key, value in arrays.items() if value is not None})
    with refused(code) as error:
        load_projection(tmp_path / "p.npz", Params(classes=3, features=4))
    assert str(error.value).startswith(str(tmp_path / "p.npz: ")[:-1])


def test_a_projection_must_fit_the_monitor(tmp_path: Path) -> None:
    made = integer_projection(np.ones((8, 4)), np.zeros(4), 0.1, 0, Params(classes=3, features=4))
    with refused("conflict"):
        export(Params(classes=3, features=2), tmp_path / "c", projection=made)
    wide = Params(classes=3, features=40)
    with refused("value"):
        integer_projection(np.ones((80, 40)), np.zeros(40), 0.1, 0, wide)
    with refused("value"):
        made(np.zeros((1, 7), np.int8))
    assert list(tmp_path.iterdir()) == []
