# SPDX-License-Identifier: MIT
"""Build the archives of all distributions twice, compare them, install them bare, and try them there.

    python tools/release.py                the archives of a release, in out/wheels
    python tools/release.py notes 0.2.0    what CHANGELOG.md says of a version, for its release page
    python tools/release.py site out/site pages 0.2.0    one version's site beside those of others

Both builds are made by `build` from copies of what git tracks, in places, zones and masks that differ: one
byte of difference fails. `twine` and `check-wheel-contents` look at them. Then a fresh environment gets them
that sees the packages of this one, without a compiler, an index and, where Linux lets us, a
network. There, tools/release_smoke.py and the vectors run. Exit status: 0, 1 with what is wrong, 2 for usage.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".", "device", "watch", "lab")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in")
TRIED = ("README.md", "conftest.py", "tests/support", "tests/binding/test_vectors_python.py", "vectors")
FORWARD = '<!doctype html>\n<meta http-equiv="refresh" content="0; url={0}/">\n<a href="{0}/">tcuq {0}</a>\n'


class Failed(Exception):
    """A command failed, or an archive is not as it should be."""


def run(words: list[str], folder: Path, **options: object) -> str:
    """Run a command in a folder; return what it printed."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}\n{(done.stdout[-2000:] + done.stderr[-2000:]).strip()}")
    return str(done.stdout)


def built(place: Path, mask: int, zone: str) -> dict[str, bytes]:
    """Return the archives, built from a copy of what git tracks."""
    for name in run(["git", "ls-files", "-z"], ROOT).split("\0")[:-1]:
        if name.endswith(FILES) or "/src/" in f"/{name}" or name == "tools/archives.py":
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode & ~mask)
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    environment |= {"TZ": zone, "PYTHONHASHSEED": str(mask)}
    target = place.parent / "dist"
    for folder in FOLDERS:
        words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target)]
        run(words, place / folder, env=environment, umask=mask)
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def looked(out: Path, archives: dict[str, bytes]) -> None:
    """Write the archives with their digests, and let the tools of the field look at them."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, content in archives.items():
        (out / name).write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in archives.items())
    python, files = [sys.executable, "-m"], [str(path) for path in sorted(out.iterdir())]
    run([*python, "twine", "check", "--strict", *files], out)
    run([*python, "check_wheel_contents", *(file for file in files if file.endswith(".whl"))], out)
    (out / "SHA256SUMS").write_text(sums)
    print(sums, end="")


def tried(out: Path, home: Path) -> str:
    """Install the archives where there is nothing else, try them, and return what the tests said."""
    run([sys.executable, "-m", "venv", str(home)], out)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")  # its own .pth files are not read
    environment = {
        "PATH": str(home / "bin"),
        "HOME": str(home),
        "CC": "false",
        "CXX": "false",
        "LANG": "C.UTF-8",
    }
    environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "OMP_NUM_THREADS": "1"}
    words = ["unshare", "--map-root-user", "--net"]
    lonely = shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    alone = [str(shutil.which(words[0])), *words[1:]] if lonely else []
    wheels = [str(path) for path in out.glob("*.whl")]
    python = [*alone, str(home / "bin" / "python")]
    run(
        [*python, "-m", "pip", "install", "-q", "--no-deps", "--ignore-installed", *wheels],
        home,
        env=environment,
    )
    place = home / "tried"
    for name in (*TRIED, "tools/release_smoke.py"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / name, place / name) if (ROOT / name).is_dir() else shutil.copy(
            ROOT / name, place / name
        )
    where = run([*python, "-c", "import tcuq, tcuq_lab; print(tcuq.__file__)"], place, env=environment)
    if not Path(where.strip()).is_relative_to(home):
        raise Failed(f"tcuq was imported from {where.strip()}, expected a file below {home}")
    print(run([*python, "tools/release_smoke.py", "README.md"], place, env=environment), end="")
    tests = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=tests/support", "tests/binding"]
    return run([*python, "-m", "pytest", *tests], place, env=environment).strip().splitlines()[-1]


def check(out: Path) -> None:
    """Build, compare, look, install, try."""
    with tempfile.TemporaryDirectory() as scratch:
        first = built(Path(scratch, "one", "here"), 0o022, "UTC")
        second = built(Path(scratch, "another place", "deeper"), 0o077, "Asia/Tokyo")
        differ = [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]
        if differ:
            raise Failed(f"two builds differ: {', '.join(differ)}")
        looked(out, first)
        print("vectors:", tried(out, Path(scratch).resolve() / "home"))


def notes(version: str) -> str:
    """Return the entry of a version, without its heading; its links lead to the tag."""
    from archives import absolute

    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entry = re.search(rf"^## {re.escape(version)}(?![\w.])[^\n]*\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if entry is None or not entry[1].strip():
        raise Failed(f"CHANGELOG.md says nothing of {version}, expected an entry '## {version}'")
    return str(absolute(entry[1].strip() + "\n", "CHANGELOG.md", version))


def place(site: Path, pages: Path, version: str) -> None:
    """Copy a site to its folder; `latest/` and the first page lead to the newest version."""
    if not re.fullmatch(r"\d+(\.\d+)+", version) or not (site / "index.html").exists():
        raise Failed(f"expected the site of make docs and a version such as 0.2.0, not {site} and {version}")
    shutil.copytree(site, pages / version, dirs_exist_ok=True)
    found = [path.name for path in pages.iterdir() if re.fullmatch(r"\d+(\.\d+)+", path.name)]
    newest = max(found, key=lambda name: [int(part) for part in name.split(".")])
    (pages / "index.html").write_text(FORWARD.format(newest))
    (pages / "latest").mkdir(exist_ok=True)
    (pages / "latest" / "index.html").write_text(FORWARD.format(f"../{newest}"))
    (pages / ".nojekyll").touch()  # folders such as _static are published as they are


def main(words: list[str]) -> int:
    """Run the command line."""
    try:
        if words[:1] == ["notes"] and len(words) == 2:
            print(notes(words[1].removeprefix("v")), end="")
        elif words[:1] == ["site"] and len(words) == 4:
            place(Path(words[1]), Path(words[2]), words[3].removeprefix("v"))
        elif not words:
            check(ROOT / "out" / "wheels")
        else:
            print("usage: release.py [notes VERSION | site SITE PAGES VERSION]", file=sys.stderr)
            return 2
    except Failed as failed:
        print(f"release: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
