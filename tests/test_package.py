"""The package as a whole: imports, version, the demo, promises in the docs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
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


def test_few_names_at_the_top() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert len(names) <= 13, names
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "_version.py"}
    for name in sorted(names - {"core", "binding"}):  # C alone
        init = (PACKAGE / name / "__init__.py").read_text()
        assert ast.get_docstring(ast.parse(init)), f"{name}/__init__.py does not say what lives there"


def test_moved_modules_are_reached_with_a_warning() -> None:
    for name in (
        "alarm",
        "cost",
        "head",
        "inspect",
        "log",
        "params",
        "quantize",
        "reference",
        "signals",
        "state",
    ):
        with pytest.warns(DeprecationWarning, match=f"tcuq.{name} is now tcuq."):
            assert getattr(tcuq, name).__name__.startswith("tcuq.")
    with pytest.raises(AttributeError, match="tcuq_lab"):
        tcuq.zoo  # noqa: B018


@pytest.mark.parametrize("command", ["data", "corrupt", "stream", "train", "reproduce", "results"])
def test_moved_commands_say_where_they_went(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tcuq.cli import main

    assert main([command, "x", "--y", "1"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and f"'tcuq-lab {command}'" in err


@pytest.mark.slow
def test_the_wheel_holds_the_product_alone(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        tmp_path,
        ROOT,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "setuptools" in done.stderr:
        pytest.skip("setuptools and wheel are missing: pip install setuptools wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        modules = [name for name in content.namelist() if name.endswith(".py")]
    assert not [name for name in modules if name.startswith("tcuq_lab")]
    assert len(modules) <= 130
    assert wheel.stat().st_size <= 500_000


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
