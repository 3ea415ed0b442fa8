# SPDX-License-Identifier: MIT
"""Emitted packages: one truth on three ways, files that compile cleanly, refusals in one line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from device_emitted import BOARD, agree, fitting, image, lively, program, recorded, written
from device_graphs import Maker, graph_of, pictures, resnet8, whole

from tcuq import Params
from tcuq.cli import main
from tcuq.export.selfcheck import STEP_FIELDS
from tcuq.recording.model import Format
from tcuq.recording.ranges import quantized as recording
from tcuq_device.emit import feed
from tcuq_device.emit.application import Application, made_inputs
from tcuq_device.emit.image import build_package
from tcuq_device.emit.package import emit
from tcuq_device.emit.text import groups, texts
from tcuq_device.firmware.build import STRICT
from tcuq_device.firmware.image import Image, symbols_of
from tcuq_device.graph.storage import save_graph
from tcuq_device.tools import call, missing

tooled = pytest.mark.skipif(missing() is not None, reason=str(missing()))
STEPS = 200


def flashable(image: Image, kind: str) -> bytes:
    """Return an image as a programmer takes it."""
    target = image.path.with_suffix(f".{kind}")
    call("arm-none-eabi-objcopy", ["-O", kind, image.path, target])
    return target.read_bytes()


def application(profile: str = "standard", name: str = "kws") -> Application:
    graph = graph_of()
    return Application(graph, fitting(graph, profile), name)


def _alike(made: Application, x: np.ndarray, folder: Path) -> list[list[int]]:
    wanted = recorded(made, x)
    agree(made, x, wanted, folder)
    return wanted


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
    wanted = _alike(Application(graph, fitting(graph, profile), "kws"), x, tmp_path)
    columns = dict(zip(STEP_FIELDS, np.array(wanted).T, strict=True))
    assert len(wanted) == STEPS
    for field in ("abstain", "flagged"):
        assert set(columns[field]) == {0, 1}, field
    assert len(set(columns["answer"])) > 2 and len(set(columns["risk"])) > STEPS // 4
    if profile not in ("paper", "standard, posteriors alone"):  # alike posteriors count for little
        assert columns["alarm"].any(), "an alarm is among them"


@tooled
@pytest.mark.slow
def test_a_whole_network_decides_alike(tmp_path: Path) -> None:
    """ResNet-8 by its shapes: 2.5 billion instructions in the emulator."""
    make = resnet8()
    graph = whole(make)
    _alike(
        Application(graph, fitting(graph, "standard, posteriors alone"), "net"), make.input(STEPS), tmp_path
    )


# Files.


def test_every_name_begins_with_that_of_the_package() -> None:
    for file, text in texts(application(name="eye"), BOARD).items():
        assert not re.search(r"\bapp_|\bAPP_|@\w+@", text) or file == "feed.py", file
    assert (
        "eye_step(const int8_t *input, eye_answer_t *answer)" in texts(application(name="eye"), None)["eye.h"]
    )
    assert not any(file.startswith("board/") for file in texts(application(), None))


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


def test_headers_are_cpp_too(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is missing: install the Debian package g++")
    folder = written(application(), tmp_path)
    (folder / "t.cpp").write_text(
        '#include "kws.h"\nint main() { kws_answer_t a; kws_step(kws_input(), &a); }\n'
    )
    done = subprocess.run(
        ["g++", "-std=c++11", *STRICT[1:], "-fsyntax-only", "t.cpp"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_self_check_finds_another_network(tmp_path: Path) -> None:
    """One weight is another one."""
    made = application()
    folder = written(made, tmp_path)
    assert subprocess.run([program(made, folder)], capture_output=True).returncode == 0
    text = (folder / "kws_network.c").read_text()
    weight = re.search(r"0x([0-9A-F]{8})u", text)
    assert weight is not None
    (folder / "kws_network.c").write_text(
        text.replace(weight[0], f"0x{int(weight[1], 16) ^ 0x40404040:08X}u", 1)
    )
    done = subprocess.run([program(made, folder)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "kws_selfcheck: -200\n")


def test_the_self_check_finds_another_monitor(tmp_path: Path) -> None:
    made = application()
    folder = written(made, tmp_path)
    text = (folder / "tcuq.c").read_text()
    old = "out->risk ="
    assert old in text
    (folder / "tcuq.c").write_text(text.replace(old, "out->risk = (uint16_t)1 +", 1))
    done = subprocess.run([program(made, folder)], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "kws_selfcheck: -10\n"


# The image.


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    if missing() is not None:
        pytest.skip(str(missing()))
    return image(application(), tmp_path_factory.mktemp("image") / "build")


def test_the_image_is_what_the_chip_wants(built) -> None:
    """Vectors where flash begins; every byte of RAM within 128 KB; the stack where an overflow faults."""
    content = flashable(built, "binary")
    symbols = symbols_of(built.path)
    stack, reset = (int.from_bytes(content[at : at + 4], "little") for at in (0, 4))
    assert stack == 0x20000000 + BOARD.stack_bytes
    assert reset == symbols["reset_handler"][0] | 1
    handlers = {int.from_bytes(content[at : at + 4], "little") for at in range(8, 4 * 98, 4)}
    assert handlers == {0, symbols["fault_handler"][0] | 1}
    for name, (address, size) in symbols.items():
        begin, length = (0x20000000, 128 << 10) if address >= 0x20000000 else (0x08000000, 1 << 20)
        assert begin <= address and address + size <= begin + length, name
    assert len(content) <= 1 << 20
    assert b":020000040800F2" in flashable(built, "ihex")


def test_the_image_uses_no_semihosting(built) -> None:
    text = call("arm-none-eabi-objdump", ["-d", built.path])
    assert "bkpt" not in text and "svc" not in text and "harness" not in text


def test_the_protocol(built) -> None:
    x = pictures(3).reshape(3, -1)
    good, size = [feed.frame(row.tobytes()) for row in x], x.shape[1]
    link = feed.emulator(built.path)
    try:
        said, bytes_in = link.greeted()
        assert said[1] == "tcuq kws 0.2.0 clock 16000000", "the emulator has no crystal"
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
        assert link.ask(b"noise \x00\xff TTT" + good[1]).startswith("step 1 ")
        assert link.ask(b"TR") == "reset" and link.ask(b"TS").startswith("stack ")
        # Half of an input is lost: zeros bring the board back.
        assert link.ask(good[2][: size // 2] + bytes(size + 8)) == "error checksum"
        assert link.ask(good[2]).startswith("step 2 ")
        assert link.ask(b"TI") == "init 0" and link.ask(good[0]) == first
    finally:
        link.close()


def test_the_bytes_that_are_flashed_run(built, tmp_path: Path) -> None:
    """Nothing but what a programmer writes to 0x08000000."""
    (tmp_path / "kws.bin").write_bytes(flashable(built, "binary"))
    link = feed.emulator(tmp_path / "kws.bin")
    try:
        said, _ = link.greeted()
    finally:
        link.close()
    assert said[2:4] == ["selfcheck 0", "init 0"]


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
    try:
        with pytest.raises(ValueError, match=r"^the board took a fault$"):
            link.greeted()
    finally:
        link.close()


@pytest.mark.slow
@tooled
def test_a_stack_that_overflows_is_told(tmp_path: Path) -> None:
    """It lies where RAM begins: below is nothing that could be overwritten."""
    made, small = application(), replace(BOARD, stack_bytes=256)
    link = feed.emulator(build_package(made, texts(made, small), small, tmp_path / "build").path)
    try:
        with pytest.raises(ValueError, match=r"^the board took a fault$"):
            link.greeted()
    finally:
        link.close()


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


@pytest.mark.slow
@tooled
def test_cmake_builds_the_same(tmp_path: Path, built) -> None:
    """On this computer with its test; for the board the image of before, byte for byte."""
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing: install the Debian packages cmake and ninja-build")
    folder = written(application(), tmp_path / "package")
    for name, chain in (("here", []), ("board", ["-DCMAKE_TOOLCHAIN_FILE=board/toolchain.cmake"])):
        for command in (
            ["cmake", "-S", folder, "-B", tmp_path / name, "-G", "Ninja", *chain],
            ["cmake", "--build", tmp_path / name],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["ctest", "--test-dir", tmp_path / "here"], capture_output=True, text=True)
    assert done.returncode == 0 and "100% tests passed, 0 tests failed out of 1" in done.stdout
    assert (tmp_path / "board" / "kws.bin").read_bytes() == flashable(built, "binary")
    assert (tmp_path / "board" / "kws.hex").exists()


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
    readme = (tmp_path / "out" / "README.md").read_text()
    assert f"| flash, of 1,048,576 | {found['flash']:,} |" in readme
    assert f"| stack, static bound for every input | {found['stack_bound']:,} |" in readme
    assert main(["device", "emit", *where]) == 2
    assert "exists; choose another folder, or replace it with --force\n" in capsys.readouterr().err
    assert main(["device", "emit", *where, "--force", "--name", "kws"]) == 0
    assert main(["device", "emit", "--help"]) == 0
    texts = [capsys.readouterr().out]
    texts += [Path(file).read_text() for file in found["files"] if not file.endswith((".c", ".h"))]
    folders = re.findall(r"-B (\S+) -DCMAKE_TOOLCHAIN_FILE|--qemu (\S+)/", "\n".join(texts))
    assert len(folders) >= 5 and {"".join(each) for each in folders} == {"build-board"}
    assert main(["device", "emit", *where, "--force", "--board", "none"]) == 0


def test_a_folder_with_a_slash_is_named_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = graph_of()
    save_graph(tmp_path / "g.npz", graph)
    fitting(graph).save(tmp_path / "p.json")
    where = [str(tmp_path / "g.npz"), str(tmp_path / "p.json"), "-o", f"{tmp_path / 'out'}/"]
    assert main(["device", "emit", *where, "--board", "none"]) == 0
    assert f"read {tmp_path / 'out' / 'README.md'}\n" in capsys.readouterr().out


def test_without_a_compiler_the_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = application()
    monkeypatch.setenv("PATH", str(tmp_path))
    done = emit(made, tmp_path / "out", BOARD)
    assert done.figures is None and done.missing.startswith("arm-none-eabi-gcc is missing")
    assert "no arm-none-eabi-gcc was there" in (tmp_path / "out" / "README.md").read_text()
    assert {f"{name}.c" for name in ("kws", "example")} <= {file.name for file in done.files}


def test_what_does_not_belong_together_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, params = graph_of(), fitting(graph_of())
    made = graph.tensors[graph.outputs["features"]]
    bare = replace(graph, outputs={"probs": graph.outputs["probs"]})
    refit = f"with --feature-scale {made.scale:.9g} --feature-zero-point {made.zero})"
    for net, watching, said in [
        (
            graph,
            Params(classes=9),
            "the monitor is for 9 classes, the network gives 10: fit a monitor to a log",
        ),
        (bare, params, "the monitor reads 32 features, graph"),
        (graph, Params(classes=10, features=8), "the monitor reads 8 features, the network gives 32"),
        (graph, params.replace(feature_scale=made.scale * 1.01), refit),
        (graph, params.replace(feature_zero_point=made.zero + 1), refit),
        (replace(graph, outputs={"logits": graph.outputs["probs"]}), params, "are logits; probs is needed"),
        (
            replace(graph, outputs={**graph.outputs, "probs": "t3"}),
            params,
            "expected 1/256 and -128: the output of a softmax is needed",
        ),
        (graph_of(heads=3), params, "gives 3 posteriors, expected one"),
        (graph_of(drop=True), params, "drops values at random, expected a network that does not"),
    ]:
        save_graph(tmp_path / "g.npz", net)
        watching.save(tmp_path / "p.json")
        where = [str(tmp_path / "g.npz"), str(tmp_path / "p.json"), "-o", str(tmp_path / "out")]
        assert main(["device", "emit", *where]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1, err
        assert not (tmp_path / "out").exists()
    save_graph(tmp_path / "g.npz", graph)
    params.save(tmp_path / "p.json")
    for options, said in [
        (["--name", "while"], "a word that C or C++ uses already"),
        (["--name", "board"], "name is 'board', expected another than board and example"),
        (["--name", "a" * 21], "at most 20 characters"),
        (["--board", "microbit"], "expected netduinoplus2, or none for a package without a start-up"),
    ]:
        assert main(["device", "emit", *where, *options]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1, err
        assert not (tmp_path / "out").exists()


@pytest.mark.slow
@tooled
def test_what_does_not_fit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make = Maker((300, 300, 2), 1)
    x = make.conv("input", 8, (1, 1))
    graph = make.graph(probs=make.softmax(make.dense(make.mean(x), 10)))
    save_graph(tmp_path / "g.npz", graph)
    Params(classes=10).save(tmp_path / "p.json")
    assert (
        main(
            ["device", "emit", str(tmp_path / "g.npz"), str(tmp_path / "p.json"), "-o", str(tmp_path / "out")]
        )
        == 2
    )
    err = capsys.readouterr().err
    assert re.search(
        r"app is too large for Netduino Plus 2 \(STM32F405\): RAM over by [\d,]+ bytes \(arena", err
    )
    assert err.count("\n") == 1 and not (tmp_path / "out").exists()


def test_made_inputs_are_the_same_everywhere() -> None:
    graph = graph_of()
    rows = made_inputs(graph, 2)
    assert rows.shape == (2, 432) and rows.dtype == np.int8 and len(np.unique(rows)) > 150
    assert rows.tobytes() == made_inputs(graph, 2).tobytes() != made_inputs(graph, 2, seed=1).tobytes()


def test_all_files_of_c_are_compiled() -> None:
    """A file that nobody compiles would be a file that nobody tests."""
    made = application()
    listed = {file for group, _ in groups(made, BOARD) for file in group} | {"example.c"}
    assert listed == {file for file in texts(made, BOARD) if file.endswith(".c")}


def test_the_header_has_the_scale_of_the_input() -> None:
    graph = graph_of()
    tensor = graph.tensors[graph.input]
    assert f"#define KWS_INPUT_SCALE {tensor.scale!r}" in texts(application(), None)["kws.h"]


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


def test_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    graph = graph_of()
    tensor = graph.tensors[graph.input]
    folder = written(application(), tmp_path / "package")
    np.savez(tmp_path / "odd.npz", x=np.zeros((64, 3), np.int8))
    with pytest.raises(ValueError, match=r"shape is \(64, 3\), expected inputs of"):
        feed.read_inputs(tmp_path / "odd.npz", tensor.size, folder)
    far = np.full((3, *tensor.shape), 1e6, np.float32)
    np.save(tmp_path / "far.npy", far)
    with pytest.raises(ValueError, match=r"values range from 1e\+06 to 1e\+06, expected"):
        feed.read_inputs(tmp_path / "far.npy", tensor.size, folder)
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4garbagegarbage")
    with pytest.raises(ValueError, match="is no NPZ or NPY file, or is damaged"):
        feed.read_inputs(tmp_path / "bad.npz", tensor.size, folder)


@tooled
def test_a_frame_of_another_length_is_dropped_as_a_whole(tmp_path: Path, built) -> None:
    x = pictures(3).reshape(3, -1)
    link = feed.emulator(built.path)
    try:
        link.greeted()
        assert link.ask(feed.frame(x[0].tobytes())).startswith("step 0 ")
        link.send(feed.frame(b"TI" + x[1].tobytes()))
        assert link.line().startswith("error length ")
        assert link.ask(feed.frame(x[2].tobytes())).startswith("step 1 "), "its bytes are no commands"
    finally:
        link.close()


@pytest.mark.slow
@tooled
def test_a_package_may_be_called_like_a_file_of_the_board(tmp_path: Path) -> None:
    assert image(application(name="startup"), tmp_path / "build").sizes.flash > 5000
