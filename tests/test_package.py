"""The package as a whole: imports, version, the demo, promises in the docs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import tcuq

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


def test_fit_and_the_command_line_need_numpy_alone() -> None:
    code = (
        "import sys, runpy\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('sklearn', 'scipy', 'river', 'torch', 'pandas'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import numpy as np, tcuq\n"
        "rng = np.random.default_rng(0)\n"
        "probs = rng.dirichlet(np.ones(3), 400)\n"
        "tcuq.fit(tcuq.Log(probs, labels=rng.integers(0, 3, 400)), run_length=100)\n"
        "from tcuq.cli import main\n"
        "sys.exit(main(['demo', '--out', '/nonexistent/x']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


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


def test_arrows_point_down() -> None:
    """Nobody imports the command line, and only it and the demo know the demo."""
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom):
                continue
            target = "." * node.level + (node.module or "")
            if room not in ("cli", "__main__.py"):
                assert not re.match(r"\.+cli\b|tcuq\.cli", target), path
            if room not in ("cli", "demo"):
                assert not re.match(r"\.+demo\b|tcuq\.demo", target), path
            if room == "metrics":
                assert re.match(r"\.(\w+)?$|\.\.checks$|[a-z_]+(\.|$)|__future__$", target), (path, target)
            if room in ("signals.py", "params.py", "monitor.py", "log.py", "quantize.py"):
                assert not re.match(r"\.+(fitting|report|io|lab|zoo|data)\b", target), path
            if room in ("data", "audio", "corruptions", "zoo"):
                assert not re.match(r"\.+(lab|log|monitor|params|fitting|report)\b", target), path
            if room == "data":
                assert not re.match(r"\.+(audio|corruptions|zoo)\b", target), path
            if room not in ("cli", "reproduce", "pages"):
                assert not re.match(r"\.+reproduce\b", target), path
            if room not in ("cli", "pages"):
                assert not re.match(r"\.+pages\b", target), path
            if room not in ("cli", "zoo", "methods", "reproduce", "device"):
                assert not re.match(r"\.+zoo\b|torch\b", target), path


def test_the_demo_runs_and_keeps_its_promises(tmp_path: Path) -> None:
    from tcuq.demo import main

    calls = []
    result = main(tmp_path, seed=0, progress=lambda *call: calls.append(call))
    assert result["audit"] is True
    assert result["abstained"] <= result["budget"]
    assert abs(result["flagged"] - result["level"]) <= result["flag_bound"]
    assert result["auroc"] > result["auroc_plain"]
    assert {path.name for path in tmp_path.iterdir()} == {Path(name).name for name in result["files"]}
    assert calls[-1][:2] == (6, 6)
    assert "ABSTAIN" in result["text"]


PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
C_BLOCKS = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def test_the_readme_runs_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcuq.demo import DEV_CORRUPTIONS, make_log, train
    from tcuq.demo.digits import load
    from tcuq.io import write_log

    train_part, dev_part, _ = load(0)
    write_log(tmp_path / "dev.npz", make_log(train(train_part, 0), dev_part, DEV_CORRUPTIONS, 3000, 1))
    monkeypatch.chdir(tmp_path)
    assert PYTHON_BLOCKS
    for block in PYTHON_BLOCKS:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "params.json").exists()


def test_the_readme_compiles_in_c(tmp_path: Path) -> None:
    from tcuq.export import export

    export(tcuq.Params(classes=10, features=32, feature_zero_point=-128), tmp_path / "c", name="kws")
    assert C_BLOCKS
    for block in C_BLOCKS:
        (tmp_path / "c" / "readme.c").write_text(block)
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "readme.c", "-o", "readme.o"]
        subprocess.run(command, check=True, cwd=tmp_path / "c")
