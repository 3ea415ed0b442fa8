"""The packages for registries: complete, the same bytes each time, and as the registries ask for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cortex import HERE, compile_for_m4, link_for_m4, need, run_on_m4
from places import ROOT
from registry import LIBRARY, MONITOR, REGISTRIES, main
from registry_check import LINTERS

import tcuq
from tcuq.export import export

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
NAMES = [each.form for each in REGISTRIES]
each_registry = pytest.mark.parametrize("name", NAMES)
STAND_INS = {
    "zephyr": [f"-I{HERE / 'zephyr'}"],
    "espidf": [f"-I{HERE / 'freertos'}", str(HERE / "freertos" / "main.c")],
}
PROGRAMS = {
    "platformio": "examples/native/src/main.c",
    "zephyr": "samples/watch/src/main.c",
    "espidf": "examples/watch/main/watch_main.c",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all packages; tests that change one copy it."""
    out = tmp_path_factory.mktemp("registry") / "out"
    assert main([str(out)]) == 0
    return out


def copied(made: Path, name: str, to: Path) -> Path:
    return Path(shutil.copytree(made / name / LIBRARY, to / LIBRARY))


@pytest.mark.slow
@pytest.mark.parametrize("name", LINTERS)
def test_the_linter_of_a_registry_passes(made: Path, tmp_path: Path, name: str) -> None:
    folder = copied(made, name, tmp_path)
    found = LINTERS[name](folder)
    if found.passed is None:
        pytest.skip(f"{found.linter} is not installed: tools/registry_check.py says from where")
    assert found.passed, found.said


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs_and_its_self_check_passes(made: Path, tmp_path: Path, name: str) -> None:
    compiler, folder, program = need("cc", "gcc"), made / name / LIBRARY, tmp_path / "watch"
    include = [f"-I{folder / 'include'}", f"-I{folder / 'src'}", *STAND_INS.get(name, [])]
    sources = [str(folder / PROGRAMS[name]), *map(str, sorted((folder / "src").glob("*.c")))]
    subprocess.run([compiler, *STRICT, *include, *sources, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("self-check passed\nsilence A")


def test_the_library_takes_a_monitor_of_ones_own(made: Path, tmp_path: Path) -> None:
    """As the page says: the files of the monitor beside the program, the core from the library."""
    library, package = made / "arduino" / LIBRARY, tmp_path / "kws"
    export(tcuq.Params(classes=5), package, "kws")
    page = (library / "README.md").read_text()
    (block,) = re.findall(r"```c\n(.*?)```", page, re.S)
    program = tmp_path / "use.c"
    program.write_text(
        f"{block.replace('void on_', 'void on_inference(const int8_t *posteriors);void on_', 1)}"
        f'#include "{MONITOR}_selfcheck.h"\n#include "{MONITOR}.h"\n'
        f"static uint32_t ring[{MONITOR.upper()}_RING_BYTES / 4u];\n"
        "int main(void) { static int8_t probs[KWS_CLASSES]; int status = start(); on_inference(probs);"
        f" return status != 0 || {MONITOR}_selfcheck(ring, sizeof ring) != 0; }}\n"
    )
    text = program.read_text().replace("int start(void)\n", "int start(void);\nint start(void)\n", 1)
    program.write_text(text)
    own = sorted(map(str, package.glob("kws*.c")))
    core = sorted(map(str, (library / "src").glob("*.c")))
    include = [f"-I{library / 'src'}", f"-I{package}"]
    # Other packages show programs their public headers alone.
    public = [f"-I{made / 'platformio' / LIBRARY / 'include'}", f"-I{package}"]
    subprocess.run([need("cc", "gcc"), *STRICT, *public, "-fsyntax-only", str(program), *own], check=True)
    target = str(tmp_path / "use")
    subprocess.run(
        [need("cc", "gcc"), *STRICT, *include, str(program), *own, *core, "-o", target], check=True
    )
    assert subprocess.run([target], timeout=60).returncode == 0


@pytest.mark.slow
def test_the_sketch_of_the_library_runs_on_a_cortex_m4(made: Path, tmp_path: Path) -> None:
    folder = made / "arduino" / LIBRARY
    text = (folder / "examples" / "Watch" / "Watch.ino").read_text()
    sketch = tmp_path / "Watch.ino.cpp"
    sketch.write_text("#include <Arduino.h>\n" + text)
    include = [f"-I{folder / 'src'}", f"-I{HERE / 'arduino'}"]
    files = [sketch, HERE / "arduino" / "core.cpp", *sorted((folder / "src").glob("*.c"))]
    objects = [compile_for_m4(file, tmp_path / f"{file.stem}.o", *include) for file in files]
    status, said = run_on_m4(link_for_m4(objects, tmp_path / "watch.elf"))
    assert status == 0 and said.count("silence A") == 3


def test_the_demo_monitor_is_a_sound_one() -> None:
    params = tcuq.Params.load(ROOT / "packaging" / "registry" / f"{MONITOR}.json")
    assert params.features == 0 and params.names is not None and len(params.names) == params.classes
    assert "made data" in params.notes["about"]
