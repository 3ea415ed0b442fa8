"""What the registries ask of a package, as they publish it, in our own words: each broken rule is a sentence.

The linters of the registries say the last word (tools/registry_check.py runs those that are installed); these
rules need no network and no tool but a reader of YAML.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
CATEGORIES = (
    *("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing"),
    *("Data Storage", "Data Processing", "Other"),
)
_ARDUINO = "name version author maintainer sentence paragraph category url architectures license includes"
"""All of them must be there; the specification has others, which this library does not use."""
_PLATFORMIO = """
$schema name version description keywords homepage repository authors license frameworks platforms headers
examples dependencies export scripts build
"""
_ESPIDF = """
version targets maintainers description license tags dependencies url repository documentation issues
discussion examples files
"""
ARDUINO_FIELDS, PLATFORMIO_FIELDS, ESPIDF_FIELDS = map(
    frozenset, (_ARDUINO.split(), _PLATFORMIO.split(), _ESPIDF.split())
)


def _yaml(path: Path) -> Any:
    return importlib.import_module("yaml").safe_load(path.read_text(encoding="utf-8"))


def common(folder: Path) -> Iterator[str]:
    """Yield what every registry refuses or warns of."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"{name} is a link, expected a file"
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", path.name) or len(path.name) > 63:
            yield f"{name} has a name that not every system can store"
        if path.suffix == ".exe":
            yield f"{name} is a program, expected sources alone"
    for file in ("README.md", "LICENSE"):
        if not (folder / file).is_file():
            yield f"{file} is missing in the top folder"


def arduino(folder: Path) -> Iterator[str]:
    """Yield what breaks the specification of Arduino libraries or what arduino-lint looks for."""
    yield from common(folder)
    lines = (folder / "library.properties").read_text(encoding="utf-8").splitlines()
    if any("=" not in line for line in lines):
        yield "library.properties has a line without ="
        return
    card = dict(line.split("=", 1) for line in lines)
    if len(card) != len(lines):
        yield "library.properties names a field twice"
    for field in sorted(ARDUINO_FIELDS ^ set(card)):
        yield f"library.properties: {field} is {'missing' if field in ARDUINO_FIELDS else 'unknown'}"
    for field in sorted(ARDUINO_FIELDS & set(card)):
        if not card[field].strip():
            yield f"library.properties: {field} is empty"
    name = card.get("name", "")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,15}", name) or name.lower().startswith("arduino"):
        yield f"name is {name!r}, expected at most 16 characters without a space, not Arduino's own"
    if not (folder / "src" / f"{name}.h").is_file():
        yield f"src/{name}.h is missing, expected a header with the name of the library"
    if not SEMVER.fullmatch(card.get("version", "")):
        yield f"version is {card.get('version')!r}, expected a semantic version"
    if card.get("category") not in CATEGORIES:
        yield f"category is {card.get('category')!r}, expected one of {', '.join(CATEGORIES)}"
    if not re.fullmatch(r"https?://\S+", card.get("url", "")):
        yield f"url is {card.get('url')!r}, expected an address"
    if card.get("sentence", "-") in card.get("paragraph", ""):
        yield "paragraph repeats the sentence, expected what follows it"
    for header in card.get("includes", "").split(","):
        if not (folder / "src" / header).is_file():
            yield f"includes names {header}, which is not in src"
    for line in (folder / "keywords.txt").read_text(encoding="utf-8").splitlines():
        if not re.fullmatch(r"\w+\t(KEYWORD[123]|LITERAL1)", line):
            yield f"keywords.txt has {line!r}, expected a word, one tab and its kind"
    sketches = sorted(folder.rglob("*.ino"))
    if not sketches:
        yield "examples has no sketch"
    for sketch in sketches:
        place = sketch.relative_to(folder).as_posix()
        if place != f"examples/{sketch.stem}/{sketch.stem}.ino":
            yield f"{place} is a sketch, expected it as examples/{sketch.stem}/{sketch.stem}.ino"
    if (folder / ".development").exists():
        yield ".development is there, which no release may have"


def platformio(folder: Path) -> Iterator[str]:
    """Yield what breaks the documented form of library.json."""
    yield from common(folder)
    card = json.loads((folder / "library.json").read_text(encoding="utf-8"))
    for field in sorted(set(card) - PLATFORMIO_FIELDS):
        yield f"library.json: {field} is unknown"
    for field in ("name", "version", "description", "keywords", "repository", "license"):
        if not card.get(field):
            yield f"library.json: {field} is missing"
    if not re.fullmatch(r"[A-Za-z0-9_ .-]{1,50}", card.get("name", "")):
        yield f"name is {card.get('name')!r}, expected at most 50 plain characters"
    if not SEMVER.fullmatch(card.get("version", "")) or len(card.get("version", "")) > 20:
        yield f"version is {card.get('version')!r}, expected a semantic version of at most 20 characters"
    if len(card.get("description", "")) > 255:
        yield "description is longer than 255 characters"
    for word in card.get("keywords", ()):
        if not re.fullmatch("[a-z0-9-]{1,20}", word):
            yield f"keyword is {word!r}, expected lower case, digits and - in at most 20 characters"
    for header in card.get("headers", ()):
        if not (folder / "include" / header).is_file():
            yield f"headers names {header}, which is not in include"
    for example in card.get("examples", ()):
        for file in example["files"]:
            if not (folder / example["base"] / file).is_file():
                yield f"examples names {example['base']}/{file}, which is missing"


def espidf(folder: Path) -> Iterator[str]:
    """Yield what breaks the documented manifest of the component registry."""
    yield from common(folder)
    card = _yaml(folder / "idf_component.yml")
    for field in sorted(set(card) - ESPIDF_FIELDS):
        yield f"idf_component.yml: {field} is unknown"
    for field in ("version", "description", "license", "url", "repository", "dependencies"):
        if not card.get(field):
            yield f"idf_component.yml: {field} is missing"
    if not SEMVER.fullmatch(str(card.get("version"))):
        yield f"version is {card.get('version')!r}, expected a semantic version"
    for tag in card.get("tags", ()):
        if not re.fullmatch(r"[A-Za-z0-9_-]{3,32}", tag):
            yield f"tag is {tag!r}, expected 3 to 32 letters, digits, - and _"
    for cmake in (folder / "CMakeLists.txt", *folder.glob("examples/*/main/CMakeLists.txt")):
        for file in re.findall(r'"([^"]+\.c)"', cmake.read_text(encoding="utf-8")):
            if not (cmake.parent / file).is_file():
                yield f"{cmake.relative_to(folder).as_posix()} names {file}, which is missing"
    for manifest in folder.glob("examples/*/main/idf_component.yml"):
        for name, wanted in _yaml(manifest)["dependencies"].items():
            if not re.fullmatch(r"[a-z0-9_-]+/[a-z0-9_-]+", name) or "version" not in wanted:
                yield f"an example depends on {name}, expected namespace/name with a version"
            if (manifest.parent / wanted.get("override_path", ".")).resolve() != folder.resolve():
                yield f"override_path of {name} is not this component"
            if folder.resolve().name != name.partition("/")[2]:
                yield f"the folder is {folder.resolve().name}, expected the name of the component in {name}"


def zephyr(folder: Path) -> Iterator[str]:
    """Yield what breaks the documented form of a module."""
    yield from common(folder)
    card = _yaml(folder / "zephyr" / "module.yml")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", str(card.get("name"))):
        yield f"module.yml: name is {card.get('name')!r}, expected letters, digits, - and _"
    build = card.get("build", {})
    for file in (f"{build.get('cmake')}/CMakeLists.txt", build.get("kconfig")):
        if file is None or not (folder / file).is_file():
            yield f"module.yml names {file}, which is missing"
    for sample in card.get("samples", ()):
        if not list((folder / sample).rglob("sample.yaml")):
            yield f"module.yml names {sample}, expected a sample.yaml below"


RULES = {"arduino": arduino, "platformio": platformio, "espidf": espidf, "zephyr": zephyr}
"""The rules of each registry, by the name of the folder around a package."""
