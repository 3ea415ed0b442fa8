"""The packages for registries: complete, the same bytes each time, and as the registries ask for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import registry
from cortex import HERE, compile_for_m4, link_for_m4, need, run_on_m4
from places import ROOT
from registry import LIBRARY, MONITOR, REGISTRIES, digest, main, packages
from registry_check import LINTERS, installed
from registry_check import main as check
from registry_rules import RULES

import tcuq
from tcuq.export import contents as contents_module
from tcuq.export import csource, export
from tcuq.export.versions import semver_of

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


def test_the_same_source_gives_the_same_bytes(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, texts in packages().items():
        folder = made / name / LIBRARY
        files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert files == set(texts)
        assert all((folder / file).read_bytes() == text.encode() for file, text in texts.items())
        assert digest(texts) != digest({**texts, "README.md": texts["README.md"] + " "})
    assert main([str(made)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "arduino exists, expected a new folder" in said
    (made.parent / "file").touch()
    for place in (made.parent / "file", made.parent / "file" / "below"):
        assert main([str(place)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@each_registry
def test_a_package_keeps_the_rules_and_says_one_version(made: Path, name: str) -> None:
    pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    assert list(RULES[name](made / name / LIBRARY)) == []
    cards = {"arduino": "library.properties", "platformio": "library.json", "espidf": "idf_component.yml"}
    if name in cards:
        text = (made / name / LIBRARY / cards[name]).read_text()
        assert re.findall(r'version"?[=:] ?"?([^"\n,]+)', text)[0] == semver_of(tcuq.__version__)
    page = (made / name / LIBRARY / "README.md").read_text()
    assert f"tcuq=={tcuq.__version__}" in page and "@" not in page and f"--form {name}`" in page


def test_a_release_candidate_has_one_version_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    for module in (registry, contents_module, csource):
        monkeypatch.setattr(module, "VERSION", "1.4.0rc1")
    assert main([str(tmp_path / "out")]) == 0
    for name in NAMES:
        folder = tmp_path / "out" / name / LIBRARY
        assert list(RULES[name](folder)) == []
        assert "tcuq==1.4.0rc1\n" in (folder / "README.md").read_text()
        texts = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
        assert tcuq.__version__ not in texts
    assert '"tcuq/tcuq=1.4.0-rc.1:watch"' in (tmp_path / "out" / "espidf" / LIBRARY / "README.md").read_text()
    main_yml = tmp_path / "out" / "espidf" / LIBRARY / "examples" / "watch" / "main" / "idf_component.yml"
    assert 'version: "^1.4.0-rc.1"' in main_yml.read_text()


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "said"),
    [
        ("arduino", "library.properties", "url=https", "url=x", "url is "),
        ("arduino", "library.properties", "name=tcuq", "name=my tcuq", "name is 'my tcuq'"),
        ("arduino", "library.properties", "category=Data ", "category=", "category is 'Processing'"),
        ("arduino", "library.properties", "version=", "version=v", "version is 'v"),
        ("arduino", "library.properties", "includes=tcuq.h", "includes=tcuk.h", "includes names tcuk.h"),
        ("arduino", "library.properties", "license=MIT\n", "", "license is missing"),
        ("arduino", "library.properties", "paragraph=", "more=", "paragraph is missing"),
        ("arduino", "keywords.txt", "\t", "  ", "keywords.txt has"),
        ("platformio", "library.json", '"tcuq.h"', '"tcuk.h"', "headers names tcuk.h"),
        ("platformio", "library.json", '"homepage"', '"home"', "home is unknown"),
        (
            "platformio",
            "library.json",
            '"src/main.c"',
            '"main.c"',
            "examples/native/main.c, which is missing",
        ),
        ("platformio", "library.json", '"drift"', '"Drift!"', "keyword is 'Drift!'"),
        ("espidf", "idf_component.yml", "license: MIT\n", "", "license is missing"),
        ("espidf", "idf_component.yml", "  - drift", "  - a b", "tag is 'a b'"),
        ("espidf", "CMakeLists.txt", "src/tcuq.c", "src/tcuk.c", "names src/tcuk.c, which is missing"),
        ("espidf", "examples/watch/main/idf_component.yml", "../../..", "../..", "is not this component"),
        ("zephyr", "zephyr/module.yml", "kconfig: zephyr/", "kconfig: ", "names Kconfig, which is missing"),
        ("zephyr", "zephyr/module.yml", "  - samples", "  - zephyr", "expected a sample.yaml below"),
    ],
)
def test_a_broken_rule_is_found(
    made: Path, tmp_path: Path, name: str, file: str, old: str, new: str, said: str
) -> None:
    pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    folder = copied(made, name, tmp_path)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    assert any(said in each for each in RULES[name](folder))


def test_a_component_takes_its_name_from_the_folder(made: Path, tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    folder = copied(made, "espidf", tmp_path).rename(tmp_path / "espidf")
    assert list(RULES["espidf"](folder)) == [
        "the folder is espidf, expected the name of the component in tcuq/tcuq"
    ]


def test_files_that_no_registry_wants_are_found(made: Path, tmp_path: Path) -> None:
    folder = copied(made, "arduino", tmp_path)
    (folder / "LICENSE").unlink()
    (folder / "a b.exe").touch()
    (folder / "link.h").symlink_to(folder / "src" / "tcuq.h")
    (folder / ".development").touch()
    (folder / "Other.ino").touch()
    said = "\n".join(RULES["arduino"](folder))
    for words in (
        "LICENSE is missing",
        "is a program",
        "a name that",
        "is a link",
        ".development is",
        "as examples/",
    ):
        assert words in said


@pytest.mark.slow
@pytest.mark.parametrize("name", LINTERS)
def test_the_linter_of_a_registry_passes(made: Path, tmp_path: Path, name: str) -> None:
    folder = copied(made, name, tmp_path)
    found = LINTERS[name](folder)
    if found.passed is None:
        pytest.skip(f"{found.linter} is not installed: tools/registry_check.py says from where")
    assert found.passed, found.said


def test_the_check_ends_with_1_where_something_is_wrong(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    monkeypatch.setattr("registry_check.installed", lambda name: None)  # linters have a test of their own
    assert check([str(made)]) == 0
    assert capsys.readouterr().out.count("not installed") == len(LINTERS)
    out = Path(shutil.copytree(made, tmp_path / "out"))
    (out / "espidf" / LIBRARY / "LICENSE").unlink()
    assert check([str(out)]) == 1
    assert "espidf: rules: FAILED\nLICENSE is missing" in capsys.readouterr().out
    assert check([str(tmp_path / "none")]) == 2


def test_a_linter_beside_this_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pip puts it: `make registry` runs the Python of an environment that nobody activated."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert installed("pio") is None
    (tmp_path / "pio").write_text("#!/bin/sh\n")
    (tmp_path / "pio").chmod(0o755)
    assert installed("pio") == str(tmp_path / "pio")


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
