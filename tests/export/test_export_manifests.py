"""Manifests of packages: what each platform reads, and the files that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from exported import package


def read_yaml(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="no YAML reader: pip install pyyaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_kconfig(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    kconfiglib = pytest.importorskip("kconfiglib", reason="no Kconfig reader: pip install kconfiglib")
    monkeypatch.chdir(path.parent)
    return kconfiglib.Kconfig(path.name, warn_to_stderr=False)


def test_library_json_is_what_platformio_documents(tmp_path: Path) -> None:
    folder = package(tmp_path / "p", "platformio", "everything")
    card = json.loads((folder / "library.json").read_text())
    documented = "$schema name version description keywords repository license frameworks platforms headers"
    assert set(card) <= {*documented.split(), "examples", "build"} and set(card["repository"]) == {
        "type",
        "url",
    }
    assert len(card["name"]) <= 50 and len(card["version"]) <= 20 and len(card["description"]) <= 255
    assert all((folder / "include" / header).is_file() for header in card["headers"])
    assert card["build"] == {"srcDir": "src", "includeDir": "include"}
    for example in card["examples"]:
        assert all((folder / example["base"] / file).is_file() for file in example["files"])
    for ini in folder.rglob("platformio.ini"):
        (link,) = re.findall(r"lib_deps = tcuq_kws=symlink://(\S+)", ini.read_text())
        assert (ini.parent / link).resolve() == folder.resolve()


def test_the_zephyr_module_is_what_zephyr_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package(tmp_path / "p", "zephyr", "everything")
    module, sample = read_yaml(folder / "zephyr" / "module.yml"), folder / "samples" / "watch"
    assert set(module) == {"name", "build", "samples"} and module["name"] == "tcuq_kws"
    assert (folder / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert all((folder / sample).is_dir() for sample in module["samples"])
    config = read_kconfig(folder / module["build"]["kconfig"], monkeypatch)
    config.load_config(sample / "prj.conf")
    assert config.warnings == []
    symbols = {name: config.syms[f"TCUQ_KWS{name}"].str_value for name in ("", "_SELFCHECK", "_TRIM")}
    assert symbols == {"": "y", "_SELFCHECK": "y", "_TRIM": "n"}
    used = set(re.findall(r"CONFIG_(\w+)", (folder / "zephyr" / "CMakeLists.txt").read_text()))
    assert used == {f"TCUQ_KWS{name}" for name in symbols}
    tests = read_yaml(sample / "sample.yaml")
    (name,), (said,) = tests["tests"], tests["common"]["harness_config"]["regex"]
    assert re.fullmatch(r"sample(\.\w+)+", name)
    assert re.search(said, (sample / "src" / "main.c").read_text())


def test_the_component_is_what_esp_idf_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package(tmp_path / "tcuq_kws", "espidf", "everything")
    card, main = read_yaml(folder / "idf_component.yml"), folder / "examples" / "watch" / "main"
    assert set(card) <= {"version", "description", "license", "url", "tags", "dependencies"}
    assert card["dependencies"] == {"idf": ">=5.0"} and (folder / "LICENSE").is_file()
    ((name, dependency),) = read_yaml(main / "idf_component.yml")["dependencies"].items()
    assert name == "tcuq_kws" and (main / dependency["path"]).resolve() == folder.resolve()
    config = read_kconfig(folder / "Kconfig", monkeypatch)
    assert config.warnings == [] and config.syms["TCUQ_KWS_TRIM"].str_value == "n"
    for project, compiled in ((folder, folder / "src"), (main, main)):
        named = re.findall(r'"(\S+\.c)"', (project / "CMakeLists.txt").read_text())
        assert {(project / file).resolve() for file in named} == set(compiled.resolve().glob("*.c")) != set()
