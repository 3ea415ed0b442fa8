"""The workflows of the project: rights, versions, names that have to agree, and what a linter says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import registry_check
import release_check
from places import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
# Who may write what: id-token publishes to PyPI without a password, contents makes releases and pushes sites.
WRITERS = {
    "release": {
        "publish": {"id-token"},
        "publish-lab": {"id-token"},
        "announce": {"contents"},
        "pages": {"contents"},
    },
    "test": {},
    "wheels": {},
}


def read(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="pyyaml is missing: pip install pyyaml")
    # YAML takes the word `on` for a truth value.
    return {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text()).items()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_asks_for_no_more_than_it_needs(path: Path) -> None:
    content = read(path)
    assert content["permissions"] in ({}, {"contents": "read"})
    writers = {
        name: {right for right, how in job.get("permissions", {}).items() if how == "write"}
        for name, job in content["jobs"].items()
    }
    assert {name: rights for name, rights in writers.items() if rights} == WRITERS[path.stem]
    for name, job in content["jobs"].items():
        assert "uses" in job or "timeout-minutes" in job, name
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_names_in_a_workflow_agree(path: Path) -> None:
    content = read(path)
    jobs = content["jobs"]
    for name, job in jobs.items():
        needs = job.get("needs", [])
        assert {needs} <= jobs.keys() if isinstance(needs, str) else set(needs) <= jobs.keys(), name
        for step in job.get("steps", ()):
            assert ("uses" in step) != ("run" in step), (name, step)
    for action in re.findall(r"uses: (\S+)", path.read_text()):
        if action.startswith("./"):
            assert (ROOT / action).exists(), action
        else:
            assert re.search(r"@(v\d+(\.\d+){0,2}|release/v\d+)$", action), action
    for script in re.findall(r"python3? ((?:tools|\.github)/\S+\.py)", path.read_text()):
        assert (ROOT / script).exists(), script


def test_what_is_downloaded_was_uploaded() -> None:
    steps = [
        step for path in WORKFLOWS for job in read(path)["jobs"].values() for step in job.get("steps", ())
    ]
    told = [
        (step["uses"].split("@")[0], step["with"]) for step in steps if "artifact@" in step.get("uses", "")
    ]
    sent = {options["name"] for action, options in told if action == "actions/upload-artifact"}
    asked = [options for action, options in told if action == "actions/download-artifact"]
    assert len(asked) >= 4
    for options in asked:
        pattern = options.get("name") or options["pattern"]
        wanted = re.compile(re.escape(pattern).replace(r"\*", ".*"))
        assert any(wanted.fullmatch(name) for name in sent), pattern


def test_what_wheels_are_tested_with_is_there() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = told["tool"]["cibuildwheel"]
    for source in wheels["test-sources"]:
        assert (ROOT / source).exists(), source
    assert set(wheels["test-extras"]) <= told["project"]["optional-dependencies"].keys()
    moment = re.search(r'"SOURCE_DATE_EPOCH", "(\d+)"', (ROOT / "setup.py").read_text())
    assert moment is not None and wheels["environment"]["SOURCE_DATE_EPOCH"] == moment[1]
    least = told["project"]["requires-python"].removeprefix(">=").replace(".", "")
    assert wheels["build"][:2] == [f"cp{least}-*", "cp311-*"]  # 3.11 has the stable ABI


def test_what_setup_would_install_is_installed_by_the_workflow() -> None:
    """Tests skip themselves without these tools: nobody would notice that they never run."""
    script = (ROOT / "tools" / "setup.sh").read_text(encoding="utf-8")
    # The parts for tests: the first line of such a part names the kind, a line `fi` at the left ends it.
    parts = re.findall(r"^if [^\n]*= test \][^\n]*\n(.*?)^fi$", script, re.M | re.S)
    asked = {word for part in parts for line in re.findall(r"fetch ([^|}]+)", part) for word in line.split()}
    asked = {re.sub(r'"libclang-rt-.*', "libclang-rt-18-dev", word) for word in asked}
    assert {"gcc", "mosquitto", "clang-19", "qemu-user", "gcc-aarch64-linux-gnu"} <= asked
    steps = "\n".join(step.get("run", "") for step in read(FOLDER / "test.yml")["jobs"]["test"]["steps"])
    there = {
        word for line in re.findall(r"apt-get install((?:[^\n]*\\\n)*[^\n]*)", steps) for word in line.split()
    }
    assert asked - there == {"chromium", "libc6-dev"}, "gcc brings libc6-dev; runners have a browser"


def test_what_the_check_of_archives_lends_is_installed_by_the_workflow() -> None:
    steps = [step.get("run", "") for step in read(FOLDER / "wheels.yml")["jobs"]["archives"]["steps"]]
    (line,) = [line for text in steps for line in text.splitlines() if "twine" in line]
    assert set(release_check.VISIBLE) <= set(line.split()), "else a part of the README is left out there"


def need(name: str, package: str) -> str:
    """Return a linter that pip installs, beside this Python or in PATH."""
    found = registry_check.installed(name)
    if found is None:
        pytest.skip(f"{name} is missing: pip install {package}")
    return found


def test_workflows_keep_to_the_published_schema() -> None:
    linter = need("check-jsonschema", "check-jsonschema")
    command = [linter, "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("platform", "arch", "tags"),
    [
        ("linux", "x86_64", "manylinux_x86_64 musllinux_x86_64"),
        ("linux", "aarch64", "manylinux_aarch64 musllinux_aarch64"),
        ("macos", "x86_64", "macosx_x86_64"),
        ("macos", "arm64", "macosx_arm64"),
        ("windows", "AMD64", "win_amd64"),
        ("windows", "ARM64", "win_arm64"),
    ],
)
def test_cibuildwheel_builds_what_the_page_says(platform: str, arch: str, tags: str) -> None:
    program = need("cibuildwheel", "cibuildwheel")
    command = [program, "--platform", platform, "--archs", arch, "--print-build-identifiers", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = {f"{python}-{tag}" for tag in tags.split() for python in ("cp310", "cp311", "cp314")}
    assert set(done.stdout.split()) == wanted - {"cp310-win_arm64"}


def test_the_linter_finds_nothing() -> None:
    linter = need("zizmor", "zizmor")
    command = [linter, "--offline", "--no-progress", "--quiet", "--config", str(ROOT / ".github/zizmor.yml")]
    done = subprocess.run([*command, str(FOLDER)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
