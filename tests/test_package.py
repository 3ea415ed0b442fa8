"""The package as a whole: imports, version, the demo, promises in the docs."""

from __future__ import annotations

import ast
import bz2
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from places import ROOT

import tcuq
from tcuq.base import texts

PACKAGE = ROOT / "src" / "tcuq"


def test_import_needs_numpy_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import tcuq; tcuq.Monitor, tcuq.fit; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    foreign = {name for name in out.split() if name not in sys.stdlib_module_names} - {"tcuq", "numpy"}
    # Editable installs bring a finder of their own.
    assert not {name for name in foreign if not name.startswith(("__editable__", "_"))}, foreign


def test_type_checkers_see_the_public_names() -> None:
    stub = (PACKAGE / "__init__.pyi").read_text()
    assert sorted([*re.findall(r" as (\w+)$", stub, re.M), "__version__"]) == sorted(tcuq.__all__)
    assert all(hasattr(tcuq, name) for name in tcuq.__all__)


def test_fit_and_the_demo_need_numpy_alone(tmp_path: Path) -> None:
    code = (
        "import sys, runpy\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        others = ('sklearn', 'scipy', 'river', 'torch', 'pandas', 'polars', 'pyarrow')\n"
        "        if name.partition('.')[0] in others:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import numpy as np, tcuq\n"
        "rng = np.random.default_rng(0)\n"
        "probs = rng.dirichlet(np.ones(3), 400)\n"
        "tcuq.fit(tcuq.Log(probs, labels=rng.integers(0, 3, 400)), run_length=100, force=True)\n"
        "from tcuq.cli import main\n"
        f"sys.exit(main(['demo', '--quiet', '--out', {str(tmp_path / 'd')!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "d" / "report.html").exists(), done.stderr


def imported(file: Path) -> set[str]:
    """Return the modules that a file imports as it is imported itself."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def test_the_tests_of_the_product_need_no_lab() -> None:
    folders = ("tests", "device/tests", "watch/tests")
    waiting = {file for folder in folders for file in (ROOT / folder).rglob("*.py")}
    helpers = {
        file.stem: file for folder in ("tools", "fuzz", "vectors") for file in (ROOT / folder).rglob("*.py")
    }
    seen: set[Path] = set()
    while waiting:
        seen.add(file := waiting.pop())
        names = {name.partition(".")[0] for name in imported(file)}
        assert not names & {"tcuq_lab", "torch"}, file
        waiting |= {helpers[name] for name in names & helpers.keys()} - seen


def test_one_version_in_one_place() -> None:
    found = [
        path
        for path in [
            *PACKAGE.rglob("*.py"),
            *PACKAGE.rglob("*.[ch]"),
            ROOT / "pyproject.toml",
            ROOT / "setup.py",
        ]
        if re.search(rf"(?<![\d.]){re.escape(tcuq.__version__)}(?![\d.])", path.read_text())
    ]
    assert [path.name for path in found] == ["_version.py"]
    assert f"## {tcuq.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("part", ["device", "watch", "lab"])
def test_the_other_distributions_have_the_same_version(part: str) -> None:
    text = (ROOT / part / "pyproject.toml").read_text()
    told = re.findall(r'(?:^version = "|"tcuq(?:-device)?==)([^"]+)"', text, re.M)
    assert len(told) >= 2 and set(told) == {tcuq.__version__}


def test_texts_of_a_wheel_come_from_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "PACKED", tmp_path / "texts.bz2")
    (tmp_path / "texts.bz2").write_bytes(bz2.compress(json.dumps({"core/a.h": "a\n"}).encode()))
    try:
        assert texts.text_of("core/a.h") == "a\n"
        assert (texts.folder() / "core" / "a.h").read_bytes() == b"a\n"
    finally:
        texts._packed.cache_clear()
        texts._unpacked.cache_clear()


SHIPPED = """
import hashlib, tcuq
from tcuq.base.texts import folder
from tcuq.export import FORMS, sources
from tcuq.report.page import asset
found = [text for form in FORMS for text in sources(tcuq.Params(classes=3), form=form).values()]
found += [asset("report.css"), (folder() / "core" / "tcuq.h").read_text(encoding="utf-8")]
print(hashlib.sha256("".join(found).encode()).hexdigest(), tcuq.__file__)
"""


def shipped(folder: Path) -> list[str]:
    """Return a digest of what the package below a folder exports and shows, and where it lies."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", SHIPPED]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
def test_the_source_archive_holds_every_file_of_the_product(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "archives.py", tmp_path / "tools")
    shutil.copytree(PACKAGE, tmp_path / "src" / "tcuq", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    command = [sys.executable, "setup.py", "-q", "sdist"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    if done.returncode and "setuptools" in done.stderr:
        pytest.skip("setuptools is missing or too old: pip install 'setuptools>=77'")
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("dist/*.tar.gz")
    with tarfile.open(archive) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    source = PACKAGE.parents[1]
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    ours = {path.relative_to(source).as_posix() for path in files if path.suffix != ".so"}
    beside = {"archives.py", "pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"}
    assert ours | beside <= held
    assert {name for name in held - ours - beside if ".egg-info" not in name} <= {
        *("", "src", "PKG-INFO", "setup.cfg"),
    }


@pytest.mark.slow
def test_the_wheel_holds_the_product_alone(tmp_path: Path) -> None:
    # A copy: what an earlier build left in the checkout would go into the wheel as well.
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "archives.py", tmp_path / "tools")
    shutil.copytree(PACKAGE, tmp_path / "src" / "tcuq", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        "out",
        ".",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    if done.returncode and "setuptools" in done.stderr:
        pytest.skip("setuptools and wheel are missing: pip install setuptools wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("out/*.whl")
    with zipfile.ZipFile(wheel) as content:
        modules = [name for name in content.namelist() if name.endswith(".py")]
        content.extractall(tmp_path / "installed")
    assert {name.split("/")[0] for name in modules} == {"tcuq"}
    assert not {"device", "fleet", "live"} & {name.split("/")[1] for name in modules}
    assert len(modules) <= 190 and wheel.stat().st_size <= 1_300_000  # 660 KB are pictures of the demo
    here, there = shipped(PACKAGE.parent), shipped(tmp_path / "installed")
    assert here[0] == there[0] and here[1] != there[1]
