"""Manifests of packages against what each platform documents; the files that they name are there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from exported import LIBRARIES, package

import tcuq

SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?(\+[0-9A-Za-z.]+)?")
SPDX = "MIT"
each_pair = pytest.mark.parametrize("which", LIBRARIES)


def read_yaml(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_kconfig(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    kconfiglib = pytest.importorskip("kconfiglib", reason="no Kconfig reader: pip install kconfiglib")
    monkeypatch.chdir(path.parent)
    return kconfiglib.Kconfig(path.name, warn_to_stderr=False)


@each_pair
def test_library_json_is_what_platformio_documents(tmp_path: Path, which: str) -> None:
    folder = package(tmp_path / "p", "platformio", which)
    card = json.loads((folder / "library.json").read_text())
    documented = (
        "$schema name version description keywords homepage repository authors license frameworks platforms"
        " headers examples dependencies export scripts build"
    )
    assert set(card) <= set(documented.split())
    assert {"name", "version", "description", "keywords"} <= set(card)
    assert len(card["name"]) <= 50 and not re.search(r"[:;/,@<>]|^-|-$|--", card["name"])
    assert card["version"] == tcuq.__version__ and SEMVER.fullmatch(card["version"])
    assert len(card["version"]) <= 20 and len(card["description"]) <= 255 and card["license"] == SPDX
    assert all(re.fullmatch("[a-z0-9-]+", word) for word in card["keywords"])
    assert set(card["repository"]) == {"type", "url"} and card["repository"]["type"] == "git"
    assert all((folder / "include" / header).is_file() for header in card["headers"])
    assert card["build"] == {"srcDir": "src", "includeDir": "include"}
    for example in card["examples"]:
        assert all((folder / example["base"] / file).is_file() for file in example["files"])
    for ini in folder.rglob("platformio.ini"):
        (link,) = re.findall(r"lib_deps = tcuq_kws=symlink://(\S+)", ini.read_text())
        assert (ini.parent / link).resolve() == folder.resolve()


@each_pair
def test_the_zephyr_module_is_what_zephyr_reads(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path / "p", "zephyr", which)
    module = read_yaml(folder / "zephyr" / "module.yml")
    assert set(module) == {"name", "build", "samples"} and module["name"] == "tcuq_kws"
    assert set(module["build"]) == {"cmake", "kconfig"}
    assert (folder / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert all((folder / sample).is_dir() for sample in module["samples"])
    found = read_kconfig(folder / module["build"]["kconfig"], monkeypatch)
    assert found.warnings == []
    assert set(found.syms) >= {"TCUQ_KWS", "TCUQ_KWS_SELFCHECK", "TCUQ_KWS_TRIM"}
    assert found.syms["TCUQ_KWS_SELFCHECK"].str_value == "n"
    sample = folder / "samples" / "watch"
    found.load_config(sample / "prj.conf")
    assert found.warnings == []
    symbols = {name: found.syms[f"TCUQ_KWS{name}"].str_value for name in ("", "_SELFCHECK", "_TRIM")}
    assert symbols == {"": "y", "_SELFCHECK": "y", "_TRIM": "n"}
    used = set(re.findall(r"CONFIG_(\w+)", (folder / "zephyr" / "CMakeLists.txt").read_text()))
    assert used == {"TCUQ_KWS", "TCUQ_KWS_SELFCHECK", "TCUQ_KWS_TRIM"}
    tests = read_yaml(sample / "sample.yaml")
    assert set(tests) == {"sample", "common", "tests"} and set(tests["sample"]) == {"name", "description"}
    (name,) = tests["tests"]
    assert re.fullmatch(r"sample(\.\w+)+", name)
    (expected,) = tests["common"]["harness_config"]["regex"]
    assert re.search(expected, (sample / "src" / "main.c").read_text())


@each_pair
def test_the_component_is_what_esp_idf_reads(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path / "tcuq_kws", "espidf", which)
    card = read_yaml(folder / "idf_component.yml")
    documented = (
        "version targets maintainers description license tags dependencies url repository documentation"
        " issues discussion examples files"
    )
    assert set(card) <= set(documented.split())
    assert card["version"] == tcuq.__version__ and SEMVER.fullmatch(card["version"])
    assert card["license"] == SPDX and (folder / "LICENSE").is_file()
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{3,32}", tag) for tag in card["tags"])
    assert card["dependencies"] == {"idf": ">=5.0"}
    main = folder / "examples" / "watch" / "main"
    (dependency,) = read_yaml(main / "idf_component.yml")["dependencies"].items()
    assert dependency[0] == "tcuq_kws" and re.fullmatch("[a-z0-9_]+", dependency[0])
    assert (main / dependency[1]["path"]).resolve() == folder.resolve()
    found = read_kconfig(folder / "Kconfig", monkeypatch)
    assert found.warnings == [] and found.syms["TCUQ_KWS_TRIM"].str_value == "n"
    for project in (folder, main):
        text = (project / "CMakeLists.txt").read_text()
        named = re.findall(r'"(\S+\.c)"', text)
        assert named and all((project / file).is_file() for file in named)
    assert {
        Path(file).name for file in re.findall(r'"(\S+\.c)"', (folder / "CMakeLists.txt").read_text())
    } == {path.name for path in (folder / "src").glob("*.c")}


def test_readers_of_a_c_header_see_every_field() -> None:
    from tcuq.export.forms import struct_of
    from tcuq.export.selfcheck import STEP_FIELDS

    header = (Path(tcuq.__file__).parent / "core" / "tcuq.h").read_text()
    assert {name for _, name in struct_of(header, "tcuq_step_t")} == set(STEP_FIELDS)
    assert struct_of(header, "tcuq_t")[:2] == [("const tcuq_params_t *", "params"), ("uint32_t *", "ring")]
