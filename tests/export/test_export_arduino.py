"""The Arduino library: complete, built as a board's core builds it, and run on an emulated Cortex-M4."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cortex import HERE, compile_for_m4, link_for_m4, run_on_m4
from exported import LIBRARIES, package

from tcuq.io.binary_frames import DecisionsFrame, Decoder

FUNCTION = re.compile(r"^((?:static )?\w[\w *]*\([^)]*\))\n\{", re.M)


def library(folder: Path, which: str, name: str = "kws") -> Path:
    return package(folder, "arduino", which, name)


def sketch_as_cpp(text: str) -> str:
    """Do to a sketch what the builder does: the core's header first, prototypes before the first function."""
    prototypes = "".join(f"{found};\n" for found in FUNCTION.findall(text))
    first = FUNCTION.search(text)
    assert first is not None
    return "#include <Arduino.h>\n" + text[: first.start()] + prototypes + text[first.start() :]


def built(folder: Path, work: Path, name: str = "Watch") -> Path:
    """Build the sketch with every source under src/, and link."""
    work.mkdir()
    sketch = work / f"{name}.ino.cpp"
    sketch.write_text(sketch_as_cpp((folder / "examples" / name / f"{name}.ino").read_text()))
    include = [f"-I{folder / 'src'}", f"-I{HERE / 'arduino'}"]
    files = [sketch, HERE / "arduino" / "core.cpp", *sorted((folder / "src").rglob("*.c"))]
    objects = [compile_for_m4(file, work / f"{file.stem}.o", *include) for file in files]
    return link_for_m4(objects, work / "watch.elf")


@pytest.mark.parametrize("which", LIBRARIES)
def test_the_sketch_builds_links_and_runs(tmp_path: Path, which: str) -> None:
    program = built(library(tmp_path / "kws", which), tmp_path / "work")
    status, said = run_on_m4(program)
    assert status == 0
    lines = said.splitlines()
    starts = f"{'0 first' if which == 'everything' else '0'} (act|ask|hold)"
    assert len(lines) == 3 and all(re.match(starts, line) for line in lines), said
    if which == "everything":
        assert all(re.search(r" degradation x100 -?\d+ expected accuracy % \d+", line) for line in lines), (
            said
        )


@pytest.mark.parametrize("which", LIBRARIES)
def test_the_sketch_that_sends_frames(tmp_path: Path, which: str) -> None:
    program = built(library(tmp_path / "kws", which), tmp_path / "work", "SendFrames")
    status, said = run_on_m4(program)
    assert status == 0
    params = LIBRARIES[which][0]
    frames = Decoder().push(bytes.fromhex(said.replace("\n", "")))
    assert all(isinstance(frame, DecisionsFrame) for frame in frames)
    found = [(frame.fingerprint, frame.boot, frame.first) for frame in frames]  # type: ignore[union-attr]
    # Sent after a second or more: the stub's time passes quickly.
    assert found == [(int(params.fingerprint, 16), 1, first) for first in (0, 2)]
    assert [frame.steps["answer"].tolist() for frame in frames] == [[0, 0], [0]]  # type: ignore[union-attr]


def test_one_library_may_hold_two_monitors(tmp_path: Path) -> None:
    folder = library(tmp_path / "both", "plain", "first")
    library(folder, "everything", "second")
    sketch = folder / "examples" / "Watch" / "Watch.ino"
    text = sketch.read_text().replace(
        "void setup()\n{\n",
        "void setup()\n{\n  if (first_selfcheck(first_ring, sizeof first_ring)) return;\n",
    )
    ring = "#include <first_arduino.h>\nstatic uint32_t first_ring[FIRST_RING_BYTES / 4u];\n"
    sketch.write_text(ring + text)
    status, said = run_on_m4(built(folder, tmp_path / "work"))
    assert status == 0 and len(said.splitlines()) == 3


@pytest.mark.parametrize("name", ["status", "boot", "i"])
def test_names_that_the_sketch_uses_itself(tmp_path: Path, name: str) -> None:
    folder = library(tmp_path / "lib", "everything", name)
    sketches = []
    for example in ("Watch", "SendFrames"):
        sketches.append(tmp_path / f"{example}.ino.cpp")
        sketches[-1].write_text(sketch_as_cpp((folder / "examples" / example / f"{example}.ino").read_text()))
    for file in (*sketches, folder / "src" / f"{name}_selfcheck.c"):
        compile_for_m4(file, tmp_path / "x.o", f"-I{folder / 'src'}", f"-I{HERE / 'arduino'}")
