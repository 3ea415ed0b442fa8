"""Write what a maintainer submits to the registries of Arduino, PlatformIO, ESP-IDF, and a Zephyr module.

    python tools/registry.py OUT

makes a folder ``tcuq`` in each of ``OUT/arduino``, ``OUT/platformio``, ``OUT/espidf`` and ``OUT/zephyr``: the
monitor with a demo monitor, as `tcuq export` writes it in each form, under the name `tcuq`. The version is
that of tcuq. The same source gives the same bytes; a line for each folder shows their digest.
The linters of the registries look at them where they are installed (arduino-lint; pip install platformio
idf-component-manager).
docs/RELEASING.md says what to do with them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tcuq import Params
from tcuq._version import VERSION
from tcuq.export.contents import Contents, semver_of
from tcuq.export.forms import FORMS
from tcuq.export.package import arranged, put
from tcuq.export.selfcheck import SelfCheck

HERE = Path(__file__).resolve().parent.parent / "packaging" / "registry"
HOME = "https://github.com/tcuq/tcuq"
LIBRARY = "tcuq"
"""Name of the library, and of the folder: ESP-IDF takes the name of a component from it."""
MONITOR = "demo_monitor"
"""Name of the monitor that comes along."""

SENTENCE = "Watches a classifier without labels: accept, abstain or alarm after every inference."
PARAGRAPH = (
    "One call takes the int8 softmax of your model. C99 with integers only, no heap, about 100 bytes of RAM"
    " for 4 classes. Comes with a demo monitor and a self-check; make a monitor for your own model with tcuq"
    " for Python."
)
KEYWORDS = ("tinyml", "uncertainty", "monitoring", "classifier", "drift")

Texts = dict[str, str]


@dataclass(frozen=True)
class Registry:
    """How a registry differs from the form that `tcuq export` writes."""

    form: str
    cards: Callable[[Texts], Texts]
    try_it: str
    own: str


def _arduino(texts: Texts) -> Texts:
    card = dict(line.split("=", 1) for line in texts["library.properties"].splitlines())
    card |= {"name": "tcuq", "sentence": SENTENCE, "paragraph": PARAGRAPH, "url": HOME, "includes": "tcuq.h"}
    return {
        "library.properties": "".join(f"{key}={value}\n" for key, value in card.items()),
        # The Library Manager looks for a license in the top folder.
        "LICENSE": texts["src/tcuq_LICENSE.txt"],
    }


def _platformio(texts: Texts) -> Texts:
    card = json.loads(texts["library.json"])
    card |= {
        "name": "tcuq",
        "description": f"{SENTENCE} C99, integers only, no heap.",
        "keywords": list(KEYWORDS),
        "homepage": HOME,
        "headers": ["tcuq.h"],
    }
    changed = {
        file: texts[file].replace(f"tcuq_{MONITOR}=", "tcuq=")
        for file in ("examples/native/platformio.ini", "examples/arduino/platformio.ini")
    }
    return {"library.json": json.dumps(card, indent=2) + "\n", **changed}


def _espidf(texts: Texts) -> Texts:
    semver, tags = semver_of(VERSION), "".join(f"  - {word}\n" for word in KEYWORDS)
    return {
        "idf_component.yml": f"""\
version: "{semver}"
description: {json.dumps(SENTENCE)}
license: MIT
url: {HOME}
repository: {HOME}.git
documentation: {HOME}/tree/main/docs
issues: {HOME}/issues
tags:
{tags}dependencies:
  idf: ">=5.0"
""",
        # In a project that was made from the example, the path is not there and the version counts.
        "examples/watch/main/idf_component.yml": f"""\
dependencies:
  tcuq/tcuq:
    version: "^{semver}"
    override_path: ../../..
""",
    }


def _zephyr(texts: Texts) -> Texts:
    return {
        "zephyr/module.yml": texts["zephyr/module.yml"].replace(f"name: tcuq_{MONITOR}\n", "name: tcuq\n")
    }


def _own(where: str, then: str = "Then:") -> str:
    """Return how files of a monitor of one's own come beside a library that has the core."""
    return (
        f"Copy the files of the folder `kws` whose names begin with `kws` into {where}, and `tcuq_softmax.*`"
        " and `tcuq_projection.*` if they are there. Leave the other `tcuq*` files: this library has them."
        f" {then}"
    )


REGISTRIES = (
    Registry(
        "arduino",
        _arduino,
        "In the editor, open File > Examples > tcuq > Watch, choose your board and upload. The serial monitor"
        " at 115200 baud shows a line for each step. Put the outputs of your model into `read_model()`.",
        _own(
            "the folder of your sketch",
            "In the sketch, call `start()` in `setup()`, and `on_inference()` after every inference:",
        ),
    ),
    Registry(
        "platformio",
        _platformio,
        "On this computer, in the folder of this library: `cd examples/native && pio run -t exec`."
        " On a board, name it in `examples/arduino/platformio.ini`, then `pio run -t upload -t monitor`.",
        _own("`src/` of your project"),
    ),
    Registry(
        "espidf",
        _espidf,
        '`idf.py create-project-from-example "tcuq/tcuq=@semver@:watch"`, then in the new'
        " folder `idf.py set-target esp32s3` and `idf.py build flash monitor`. For your own project:"
        " `idf.py add-dependency tcuq/tcuq`.",
        _own("`main/` of your project", "Name the `.c` files in its `SRCS`. Then:"),
    ),
    Registry(
        "zephyr",
        _zephyr,
        "Add this folder as a project of your `west.yml`, or name it in `EXTRA_ZEPHYR_MODULES`. Then:"
        " `west build -b native_sim samples/watch -t run`.",
        _own(
            "`src/` of your application",
            f"Name the `.c` files in `target_sources`, and set `CONFIG_TCUQ_{MONITOR.upper()}=y`: it compiles"
            " the core, and the linker drops the demo monitor. Then:",
        ),
    ),
)


def readme(registry: Registry) -> str:
    """Return the page that a registry shows."""
    text = (HERE / "README.md.in").read_text(encoding="utf-8")
    fields = {
        "try_it": registry.try_it,
        "own": registry.own,
        "form": registry.form,
        "version": VERSION,
        "semver": semver_of(VERSION),
        "home": HOME,
    }
    for field, value in fields.items():
        text = text.replace(f"@{field}@", value)
    return text


def packages() -> dict[str, Texts]:
    """Return the files of every package, text by path, by the name of its folder."""
    contents = Contents(Params.load(HERE / f"{MONITOR}.json"), MONITOR)
    checked = SelfCheck(contents)
    found = {}
    for registry in REGISTRIES:
        texts = arranged(contents, checked, FORMS[registry.form])
        found[registry.form] = texts | registry.cards(texts) | {"README.md": readme(registry)}
    return found


def digest(texts: Texts) -> str:
    """Return a digest of names and bytes, the same wherever they are made."""
    whole = hashlib.sha256()
    for file, text in sorted(texts.items()):
        data = text.encode()
        whole.update(f"{file}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()[:16]


LINTERS = {
    "arduino": ["arduino-lint", "--library-manager", "submit", "--compliance", "strict", "."],
    "platformio": ["pio", "pkg", "pack", "-o", os.devnull, "."],
    "espidf": ["compote", "component", "pack", "--name", LIBRARY, "--dest-dir", "../dist"],
}
"""What each registry runs on a package before it takes it."""


def linted(folder: Path) -> bool:
    """Run the linter of the registry of a package; one that is not installed is named and left out."""
    name = folder.parent.name
    words = LINTERS.get(name, [])
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if not words or shutil.which(words[0], path=beside) is None:
        print(f"{name}: not linted" + (f", {words[0]} is not installed" if words else ""))
        return True
    done = subprocess.run([shutil.which(words[0], path=beside) or "", *words[1:]], cwd=folder, text=True)
    print(f"{name}: {words[0]} {'passed' if done.returncode == 0 else 'FAILED'}")
    return done.returncode == 0


def main(argv: list[str] | None = None) -> int:
    """Write all packages and lint them; nothing that exists is replaced."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    out: Path = parser.parse_args(argv).out
    if out.exists():
        print(f"registry: {out} exists, expected a new folder; remove it", file=sys.stderr)
        return 2
    passed = []
    for name, texts in packages().items():
        folder = out / name / LIBRARY
        folder.parent.mkdir(parents=True)
        put(texts, folder)
        print(f"{folder}: tcuq {VERSION}, {len(texts)} files, sha256 {digest(texts)}")
        passed.append(linted(folder))
    return int(not all(passed))


if __name__ == "__main__":
    raise SystemExit(main())
