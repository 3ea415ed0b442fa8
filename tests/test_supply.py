"""What is shipped: the same bytes from every build, nothing of others inside, no network unless asked."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from places import ROOT

from tcuq._version import VERSION

PACKAGES = [ROOT / folder / "src" for folder in (".", "device", "watch")]

# Connections and names that were looked up; those to this machine count too.
WATCHED = """
import sys
asked = []
def watch(event, args):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.", "http.")):
        asked.append((event, str(args)))
sys.addaudithook(watch)
"""
EVERY_MODULE = """
import importlib, itertools, pkgutil, tcuq, tcuq_device, tcuq_watch
seen = 0
packages = (tcuq, tcuq_device, tcuq_watch)
walks = [pkgutil.walk_packages(each.__path__, each.__name__ + ".") for each in packages]
for module in itertools.chain(*walks):
    if module.name.rpartition(".")[2] == "__main__":
        continue
    try:
        importlib.import_module(module.name)
        seen += 1
    except ImportError as missing:  # an extra that is not installed
        assert not (missing.name or "tcuq").startswith("tcuq"), missing
print(seen, asked)
"""
COMMANDS = """
import numpy as np, tcuq
from tcuq.cli import main
rng = np.random.default_rng(0)
probs = rng.dirichlet(np.full(4, 0.3), 3000)
labels = np.array([rng.choice(4, p=row) for row in probs])
np.savez("dev.npz", probs=probs, labels=labels, shifted=np.arange(3000) % 2 == 1)
for command in (
    "fit dev.npz -o m.json --run-length 200",
    "inspect m.json",
    "run m.json dev.npz -o decisions.csv",
    "audit decisions.csv m.json",
    "report decisions.csv --params m.json -o report.html",
    "export m.json package",
):
    status = main(command.split())
    assert status == 0, (command, status)
print(asked, file=sys.stderr)
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WATCHED + code], cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_no_module_asks_the_network_when_it_is_imported(tmp_path: Path) -> None:
    done = run(EVERY_MODULE, tmp_path)
    assert done.returncode == 0, done.stderr
    seen, asked = done.stdout.split(maxsplit=1)
    assert asked.strip() == "[]" and int(seen) > 200


def test_no_command_asks_the_network(tmp_path: Path) -> None:
    done = run(COMMANDS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_watch_sees_a_connection(tmp_path: Path) -> None:
    lines = [
        "import socket",
        "with socket.socket() as one:",
        "    one.connect_ex(('127.0.0.1', 1))",
        "print(asked)",
    ]
    assert "socket.connect" in run("\n".join(lines), tmp_path).stdout


def test_nothing_of_others_is_inside() -> None:
    """Files of others would need their license and a digest here: there are none."""
    told = re.compile(rb"copyright|@license|all rights reserved|sourceMappingURL", re.IGNORECASE)
    files = [path for package in PACKAGES for path in package.rglob("*") if path.is_file()]
    shipped = [path for path in files if path.suffix not in (".so", ".pyc")]
    assert len(shipped) > 300
    assert {path.name for path in shipped if told.search(path.read_bytes())} == {"tcuq_LICENSE.txt"}  # ours


def test_pages_load_nothing_from_elsewhere() -> None:
    loads = re.compile(
        r"""(?:src|href)=["']?https?://(?!github\.com/tcuq)|@import|url\(["']?https?:|import\(["']http"""
    )
    pages = [path for package in PACKAGES for kind in ("*.js", "*.css") for path in package.rglob(kind)]
    assert len(pages) > 10
    assert [path for path in pages if loads.search(path.read_text(encoding="utf-8"))] == []


def test_the_last_series_is_supported_and_the_versions_of_the_tests_fit_every_distribution() -> None:
    assert f"| {VERSION.rpartition('.')[0]}.x | yes |" in (ROOT / "SECURITY.md").read_text()
    lines = (ROOT / "tools" / "constraints.txt").read_text().splitlines()
    fixed = {canonicalize_name(each.name): each for each in map(Requirement, lines)}
    assert all(
        str(each.specifier)[:2] == "==" and each.url is None and each.marker for each in fixed.values()
    )
    for folder in (".", "device", "watch", "lab"):
        asked = metadata.requires(f"tcuq-{folder}" if folder != "." else "tcuq") or []
        for need in map(Requirement, asked):
            name = canonicalize_name(need.name)
            if name in fixed and "spark" not in str(need.marker):
                [version] = fixed[name].specifier
                assert need.specifier.contains(version.version), (folder, str(need))
            else:
                assert need.marker or name.startswith("tcuq"), f"{need} has no fixed version"
    # Its classes are extended, which no option of it could replace.
    assert "<" in str(next(each for each in metadata.requires("tcuq-watch") or [] if "uvicorn" in each))
