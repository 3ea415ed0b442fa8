# SPDX-License-Identifier: MIT
"""Emitted packages: one truth on three ways, files that compile cleanly, refusals in one line."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from device_emitted import BOARD, agree, fed, fitting, image, lively, program, recorded, written
from device_graphs import Maker, graph_of, pictures
from places import ROOT
from refusals import refused

from tcuq import Params
from tcuq._version import VERSION
from tcuq.cli import main
from tcuq.monitor.made import STEP_FIELDS
from tcuq.recording.model import Format
from tcuq.recording.ranges import quantized as recording
from tcuq_device.boards import board
from tcuq_device.cost.measure import measure
from tcuq_device.emit import feed
from tcuq_device.emit.application import Application
from tcuq_device.emit.package import build_package, emit, flashed_board
from tcuq_device.emit.text import texts
from tcuq_device.emit.uf2 import uf2
from tcuq_device.firmware.build import STRICT
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.firmware.image import symbols_of
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Keep, Mul
from tcuq_device.graph.storage import save_graph
from tcuq_device.kernels.host import Network
from tcuq_device.tools import call, missing

tooled = pytest.mark.skipif(missing() is not None, reason=str(missing()))
STEPS = 200


def application(profile: str = "standard", name: str = "kws") -> Application:
    graph = graph_of()
    return Application(graph, fitting(graph, profile), name)


@tooled
@pytest.mark.parametrize(
    "profile",
    [
        "standard",
        pytest.param("standard, posteriors alone", marks=pytest.mark.slow),
        pytest.param("paper", marks=pytest.mark.slow),
    ],
)
def test_python_the_package_and_the_firmware_decide_alike(profile: str, tmp_path: Path) -> None:
    graph, x = lively()
    made = Application(graph, fitting(graph, profile), "kws")
    wanted = recorded(made, x)
    agree(made, x, wanted, tmp_path)
    columns = dict(zip(STEP_FIELDS, np.array(wanted).T, strict=True))
    assert len(wanted) == STEPS
    for field in ("abstain", "flagged"):
        assert set(columns[field]) == {0, 1}, field
    assert len(set(columns["answer"])) > 2 and len(set(columns["risk"])) > STEPS // 4
    if profile not in ("paper", "standard, posteriors alone"):  # alike posteriors count for little
        assert columns["alarm"].any(), "an alarm is among them"


def streaming(graph: Graph) -> Graph:
    """Return a graph that sees this input times the one before."""
    given = graph.tensors[graph.input]
    more = {name: replace(given, name=name) for name in ("before", "both")}
    seen = [replace(step, source="both") if step.source == given.name else step for step in graph.steps]
    first = [Mul("before", given.name, "both", 2**30, -6), Keep(given.name, "before")]
    return replace(graph, tensors={**graph.tensors, **more}, steps=[*first, *seen], states={"before": -100})


@tooled
@pytest.mark.slow
def test_a_package_and_a_firmware_keep_states_from_step_to_step(tmp_path: Path) -> None:
    """The self-check changes states before the first step, and init sets them again."""
    graph, x = lively()
    made = Application(streaming(graph), fitting(graph, "standard"), "kws")
    wanted = recorded(made, x)
    agree(made, x, wanted, tmp_path)
    assert wanted != recorded(Application(graph, made.params, "kws"), x)
    with refused("unsupported"):
        Firmware("two", [made.graph] * 2)
    _, ran = measure(Firmware("one", [made.graph]), BOARD, x[:20])
    assert ran is not None
    probs = Network(made.graph).run(x[:20])["probs"]
    assert [line.split()[2] for line in ran.lines] == [row.tobytes().hex() for row in probs]


@tooled
def test_the_files_of_the_nrf52840_run_on_the_chip_with_the_same_uart(tmp_path: Path) -> None:
    """No emulator here has an nRF52840. The micro:bit's nRF51 has its map and UART, and a smaller core."""
    graph, x = lively()
    made = Application(graph, fitting(graph, "standard"), "kws")
    small = replace(board("nrf52840"), compiler=("-mthumb", "-mcpu=cortex-m0"), ram_bytes=16384)
    built = build_package(made, texts(made, small), small, tmp_path / "build")
    (tmp_path / "inputs.bin").write_bytes(x[:40].tobytes())
    rows, _ = fed(built, "microbit", tmp_path / "inputs.bin")
    assert [[row[field] for field in STEP_FIELDS] for row in rows] == recorded(made, x[:40])


def built_for_pico(made: Application, folder: Path) -> bytes:
    """Return the bytes of flash."""
    pico = board("rp2040")
    path = build_package(made, texts(made, pico), pico, folder / "build").path
    call("arm-none-eabi-objcopy", ["-O", "binary", path, folder / "kws.bin"])
    return (folder / "kws.bin").read_bytes()


@tooled
def test_an_image_of_the_rp2040_begins_as_its_rom_wants_it(tmp_path: Path) -> None:
    content, sum_of_bits = built_for_pico(application(), tmp_path), 0xFFFFFFFF
    for byte in content[:252]:
        sum_of_bits ^= byte << 24
        for _ in range(8):
            sum_of_bits = (sum_of_bits << 1 ^ (sum_of_bits >> 31) * 0x104C11DB7) & 0xFFFFFFFF
    crc, stack, reset = struct.unpack_from("<3I", content, 252)
    assert crc == sum_of_bits
    assert stack == 0x20001000 and reset % 2 == 1 and 0x10000100 < reset < 0x10000000 + len(content)
    blocks = [uf2(content)[at : at + 512] for at in range(0, 2 * len(content), 512)]
    assert {block[:8].hex() + block[-4:].hex() for block in blocks} == {"5546320a57515d9e306fb10a"}
    assert b"".join(block[32:288] for block in blocks).startswith(content)
    places = [struct.unpack_from("<5I", block, 12) for block in blocks]
    count = -(-len(content) // 256)
    assert places == [(0x10000000 + 256 * at, 256, at, count, 0xE48BFF56) for at in range(count)]


RP2040JS = ROOT / "out" / "rp2040js" / "node_modules" / "rp2040js"


@tooled
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
@pytest.mark.skipif(not RP2040JS.exists(), reason="npm install --prefix out/rp2040js rp2040js@1.4.1")
def test_an_rp2040_decides_as_python_does(tmp_path: Path) -> None:
    """From the boot block on, over its UART, at the clock and rate that it set."""
    graph, x = lively()
    made = Application(graph, fitting(graph, "standard"), "kws")
    content = built_for_pico(made, tmp_path)
    script = Path(__file__).parent / "support" / "run_rp2040.mjs"

    def started(image: bytes) -> subprocess.Popen[bytes]:
        (tmp_path / "kws.uf2").write_bytes(uf2(image))
        command = ["node", script, RP2040JS, tmp_path / "kws.uf2"]
        with (tmp_path / "said").open("wb") as said:
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)

    process = started(content)
    with closing(feed.Link(process.stdout.fileno(), process.stdin.fileno(), process, timeout=300)) as link:
        said, size = link.greeted()
        assert said[1] == f"tcuq kws {VERSION} clock 125000000" and size == x[0].size
        rows = list(feed.replay(link, [row.tobytes() for row in x[:40]]))
    assert [[row[field] for field in STEP_FIELDS] for row in rows] == recorded(made, x[:40])
    assert (tmp_path / "said").read_text() == "clock 125000000 baud 115207 command 3\n"
    damaged = started(bytes([content[0] ^ 1]) + content[1:])
    assert damaged.communicate(timeout=60)[0] == b"" and damaged.returncode == 3


# Files.


@pytest.mark.cases(1)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("profile", ["standard", "paper, posteriors alone"])
def test_files_have_no_warnings(compiler: str, profile: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: install the Debian package {compiler}")
    made = application(profile)
    folder = written(made, tmp_path)
    names = [f"{name}.c" for name in ("kws", "kws_inputs", "kws_monitor", "kws_network", "example")]
    strict = [*STRICT, "-Wshadow", "-Wmissing-declarations", "-Wcast-qual", "-fsyntax-only"]
    done = subprocess.run([compiler, *strict, *names], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    core = {"gcc": "arm-none-eabi-gcc", "clang": "clang"}[compiler]
    if shutil.which(core) is None:
        pytest.skip(f"{core} is missing")
    target = ["--target=thumbv7em-none-eabi", "-ffreestanding"] if core == "clang" else ["-mcpu=cortex-m4"]
    files = [f"board/{name}.c" for name in ("board", "startup")] + (
        ["board/main.c"] if core != "clang" else []
    )
    command = [core, *strict, *target, "-mthumb", "-I.", "-Iboard", *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        pytest.param("kws_network.c", r"0x[0-9A-F]{7}", "0x1234567", -200, marks=pytest.mark.slow),
        ("tcuq.c", "out->risk =", "out->risk = (uint16_t)1 +", -10),
    ],
)
def test_the_self_check_finds_another_network_or_monitor(
    file: str, old: str, new: str, said: int, tmp_path: Path
) -> None:
    """One weight is another one, or the risk is."""
    made = application()
    folder = written(made, tmp_path)
    assert subprocess.run([program(made, folder)], capture_output=True).returncode == 0
    text, count = re.subn(old, new, (folder / file).read_text(), count=1)
    assert count == 1
    (folder / file).write_text(text)
    done = subprocess.run([program(made, folder)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"kws_selfcheck: {said}\n")


# The image.


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    if missing() is not None:
        pytest.skip(str(missing()))
    return image(application(), tmp_path_factory.mktemp("image") / "build")


def test_the_protocol(built) -> None:
    x = pictures(3).reshape(3, -1)
    good, size = [feed.frame(row.tobytes()) for row in x], x.shape[1]
    with closing(feed.emulator(built.path)) as link:
        said, bytes_in = link.greeted()
        assert said[1] == "tcuq kws 0.3.0 clock 16000000", "the emulator has no crystal"
        assert said[2:4] == ["selfcheck 0", "init 0"] and bytes_in == size
        assert [line.split()[0] for line in said[4:]] == ["stored", "stored", "ready"]
        first = link.ask(good[0])
        assert first.startswith("step 0 ")
        assert link.ask(good[1][:-1] + bytes([good[1][-1] ^ 1])) == "error checksum"
        damaged = bytearray(good[1])
        damaged[20] ^= 1
        assert link.ask(bytes(damaged)) == "error checksum"
        assert link.ask(feed.frame(x[1].tobytes() + b"T")) == f"error length {size + 1}"
        assert link.ask(b"TQ" + b"\xff" * 4) == "error length -1"
        assert link.ask(feed.frame(b"TI" + x[1].tobytes())).startswith("error length "), (
            "its bytes are no commands"
        )
        assert link.ask(b"noise \x00\xff TTT" + good[1]).startswith("step 1 ")
        assert link.ask(b"TR") == "reset" and link.ask(b"TS").startswith("stack ")
        # Half of an input is lost: zeros bring the board back.
        assert link.ask(good[2][: size // 2] + bytes(size + 8)) == "error checksum"
        assert link.ask(good[2]).startswith("step 2 ")
        assert link.ask(b"TI") == "init 0" and link.ask(good[0]) == first


def test_a_fault_is_told(built, tmp_path: Path) -> None:
    """An instruction that is none, in the place of the first one of a step."""
    content = bytearray(built.path.read_bytes())
    listing = call("arm-none-eabi-objdump", ["-h", built.path]).split()
    offset = int(listing[listing.index(".text") + 4], 16)
    begin = int(listing[listing.index(".text") + 2], 16)
    at = offset + symbols_of(built.path)["kws_step"][0] - begin
    content[at : at + 2] = b"\xff\xde"
    (tmp_path / "broken.elf").write_bytes(bytes(content))
    link = feed.emulator(tmp_path / "broken.elf")
    with closing(link), pytest.raises(ValueError, match="fault"):
        link.greeted()


def test_feeding_by_command(built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = pictures(4)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x.astype(np.int16))
    options = ["--qemu", str(built.path)]
    assert (
        feed.main([str(tmp_path / "x.npz"), *options, "--out", str(tmp_path / "d.csv"), "--steps", "3"]) == 0
    )
    head, *rows = (tmp_path / "d.csv").read_text().splitlines()
    assert head.split(",") == ["step", *STEP_FIELDS] and len(rows) == 3
    made = application()
    assert [list(map(int, row.split(",")))[1:] for row in rows] == recorded(made, x[:3])
    capsys.readouterr()
    assert feed.main([str(tmp_path / "x.npy"), *options]) == 2
    assert "no header says what an input means" in capsys.readouterr().err
    assert feed.main(["nowhere", str(tmp_path / "x.npz")]) == 2


# The command, and what it refuses.


@tooled
def test_emitting_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = graph_of()
    save_graph(tmp_path / "g.npz", graph)
    fitting(graph).save(tmp_path / "p.json")
    where = [str(tmp_path / "g.npz"), str(tmp_path / "p.json"), "-o", str(tmp_path / "out")]
    assert main(["device", "emit", *where, "--name", "kws", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 10_000 < found["flash"] < 60_000 and found["ram"] < 16_000
    assert 0 < found["stack_bound"] < found["stack_reserved"]
    assert {Path(file).name for file in found["files"]} >= {"kws.h", "README.md", "CMakeLists.txt", "feed.py"}
    assert main(["device", "emit", *where]) == 2
    assert main(["device", "emit", *where, "--force", "--name", "kws"]) == 0
    assert main(["device", "emit", *where, "--force", "--board", "none"]) == 0


def test_without_a_compiler_the_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = application()
    monkeypatch.setenv("PATH", str(tmp_path))
    done = emit(made, tmp_path / "out", BOARD)
    assert done.figures is None and done.missing.startswith("arm-none-eabi-gcc is missing")
    assert {f"{name}.c" for name in ("kws", "example")} <= {file.name for file in done.files}


def test_what_does_not_belong_together_is_refused() -> None:
    graph, params = graph_of(), fitting(graph_of())
    made = graph.tensors[graph.outputs["features"]]
    bare = replace(graph, outputs={"probs": graph.outputs["probs"]})
    wrong: list[tuple[str, Graph, Params, str]] = [
        ("conflict", graph, Params(classes=9), "kws"),
        ("conflict", bare, params, "kws"),
        ("conflict", graph, Params(classes=10, features=8), "kws"),
        ("conflict", graph, params.replace(feature_scale=made.scale * 1.01), "kws"),
        ("conflict", graph, params.replace(feature_zero_point=made.zero + 1), "kws"),
        ("missing", replace(graph, outputs={"logits": graph.outputs["probs"]}), params, "kws"),
        ("value", replace(graph, outputs={**graph.outputs, "probs": "t3"}), params, "kws"),
        ("unsupported", graph_of(heads=3), params, "kws"),
        ("unsupported", graph_of(drop=True), params, "kws"),
        ("value", graph, params, "while"),
        ("value", graph, params, "board"),
        ("value", graph, params, "a" * 21),
    ]
    for code, network, monitor, name in wrong:
        with refused(code):
            Application(network, monitor, name)


@pytest.mark.slow
@tooled
def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    make = Maker((300, 300, 2), 1)
    graph = make.graph(probs=make.softmax(make.dense(make.mean(make.conv("input", 8, (1, 1))), 10)))
    with refused("limit", "app"):
        emit(Application(graph, Params(classes=10)), tmp_path / "out", BOARD)
    assert not (tmp_path / "out").exists()
    with refused("value", "board"):
        flashed_board("microbit")


def test_inputs_are_quantized_alike_everywhere(tmp_path: Path) -> None:
    """As recorded, as sent over the wire: halves and all."""
    graph = graph_of()
    tensor = graph.tensors[graph.input]
    made = application()
    folder = written(made, tmp_path / "package")
    halves = (np.arange(-20, 540) / 2 * tensor.scale).astype(np.float32)
    x = np.resize(halves, (4, *tensor.shape))
    np.save(tmp_path / "x.npy", x)
    sent = b"".join(feed.read_inputs(tmp_path / "x.npy", tensor.size, folder))
    format = Format(tensor.scale, tensor.zero)
    assert sent == recording(x, format, np.int8)[0].tobytes()
    pixels = np.resize(np.arange(2), (3, *tensor.shape)).astype(np.uint8)
    np.savez(tmp_path / "p.npz", x=pixels, y=np.zeros(3))
    sent = b"".join(feed.read_inputs(tmp_path / "p.npz", tensor.size, folder))
    assert sent == recording(pixels, format, np.int8)[0].tobytes()
    np.save(tmp_path / "bad.npy", x > 0)
    with pytest.raises(ValueError, match="values are bool, expected int8, or finite numbers"):
        feed.read_inputs(tmp_path / "bad.npy", tensor.size, folder)
    np.save(tmp_path / "far.npy", np.full((3, *tensor.shape), 1e6, np.float32))
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4garbagegarbage")
    for name in ("far.npy", "bad.npz"):
        with pytest.raises(ValueError, match=name):
            feed.read_inputs(tmp_path / name, tensor.size, folder)
