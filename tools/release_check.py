"""Build the archives of all distributions, install them without a compiler and a network, and try them there.

    python tools/release_check.py

Leaves the archives in `out/wheels`. They are built from a copy of the checkout with the setuptools of this
environment, and installed into a fresh one that sees what README and tests need of this environment.
There, PATH has Python alone, `CC` fails, pip has no index, and where Linux lets us, there is no network.
Exit status: 0; 1 with what is wrong; 2 where setuptools is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]

import release_contents  # noqa: E402
import supply  # noqa: E402
import tiny_models  # noqa: E402

FOLDERS = [ROOT / folder / "src" / package for package, folder in supply.PACKAGES.items()]
VISIBLE = (
    *("numpy", "paho-mqtt", "pyserial", "h11", "starlette", "uvicorn"),
    *("scikit-learn", "ai-edge-litert", "pillow", "pytest", "hypothesis"),
)
# What is copied to be run there: nothing there may find the sources of the checkout.
TRIED = ("README.md", "conftest.py", "tests/support", "tests/binding/test_vectors_python.py", "vectors")


class Failed(Exception):
    """A command failed, or an archive is not as it should be."""


def needed(names: Iterable[str]) -> list[Distribution]:
    """Return installed packages and all that they need; what is not installed is left out."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        asked = [text for text in found[name].requires or () if "extra ==" not in text]
        waiting += [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in asked]
    return list(found.values())


def lend(packages: Iterable[Distribution], target: Path) -> None:
    """Make installed packages visible in another folder of packages, by links."""
    for package in packages:
        tops = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            source = Path(str(package.locate_file(top)))
            if source.exists() and not (target / top).exists():
                (target / top).symlink_to(source.resolve())


def alone() -> list[str]:
    """Return the words before a command that take its network away, or none where that is not allowed."""
    words = ["unshare", "--map-root-user", "--net"]
    if shutil.which(words[0]) is None:
        return []
    found = str(shutil.which(words[0]))
    tried = subprocess.run([found, *words[1:], "true"], capture_output=True)
    return [found, *words[1:]] if tried.returncode == 0 else []


def run(words: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command in a folder; return what it printed."""
    done = subprocess.run(words, cwd=folder, env=dict(environment), capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stdout[-2000:] + done.stderr[-2000:]).strip()
        raise Failed(f"{' '.join(words)}\nexit status {done.returncode}: {said}")
    return done.stdout


def bare(home: Path) -> dict[str, str]:
    """Return the variables of a machine that has Python of an environment and nothing else."""
    return {
        "PATH": str(home / "bin"),
        "HOME": str(home),
        "CC": "false",
        "CXX": "false",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
    }


def install(dist: Path, home: Path, names: Iterable[str]) -> dict[str, str]:
    """Install packages from a folder of wheels into a fresh environment; return its variables."""
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    lend(needed(VISIBLE), site)
    environment = bare(home)
    options = ["--quiet", "--only-binary", ":all:", "--find-links", str(dist)]
    python = str(home / "bin" / "python")
    run([*alone(), python, "-m", "pip", "install", *options, *names], home, environment)
    return environment


def reader(place: Path) -> list[str]:
    """Make the model and pictures of a reader; return the name of their folder, or none without Pillow."""
    if find_spec("PIL") is None:
        return []
    folder = place / "reader"
    folder.mkdir(parents=True)
    shutil.copy(tiny_models.MODELS / "int8.tflite", folder / "model.tflite")
    tiny_models.write_pictures(folder / "pictures", 420)
    return [folder.name]


def try_out(home: Path, environment: Mapping[str, str], version: str) -> list[str]:
    """Try what is installed; return a line for each thing that works."""
    python = str(home / "bin" / "python")
    place = home / "tried"
    for name in TRIED:
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    shutil.copy(ROOT / "tools" / "release_smoke.py", place)
    where = run([python, "-c", "import tcuq; print(tcuq.__file__)"], place, environment).strip()
    if not Path(where).is_relative_to(home):
        raise Failed(f"tcuq was imported from {where}, expected a file below {home}")
    said = run([*alone(), str(home / "bin" / "tcuq"), "--version"], place, environment).strip()
    if version not in said:
        raise Failed(f"tcuq --version says {said!r}, expected {version}")
    run([*alone(), str(home / "bin" / "tcuq-lab"), "--help"], place, environment)
    for name in ("device", "fleet", "live"):
        run([*alone(), str(home / "bin" / "tcuq"), name, "--help"], place, environment)
    done = [f"tcuq --version: {said}", "tcuq-lab --help", "tcuq device, fleet, live --help"]
    given = reader(place)
    smoke = run([*alone(), python, "release_smoke.py", "README.md", *given], place, environment)
    done += [line[6:] if line.startswith("ok") else line for line in smoke.splitlines()]
    tests = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "pythonpath=tests/support",
        "tests/binding",
    ]
    counted = run([*alone(), python, *tests], place, environment).strip().splitlines()[-1]
    return [*done, f"test vectors: {counted}"]


def rebuilt(dist: Path, folder: Path) -> list[str]:
    """Build wheels from the source archives alone; return what differs from the wheels beside them."""
    found = []
    for sdist in sorted(dist.glob("*.tar.gz")):
        shutil.unpack_archive(sdist, folder, filter="data")
        place = folder / sdist.name.removesuffix(".tar.gz")
        code = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
        run([sys.executable, "-c", code, str(place / "dist")], place, os.environ)
        (wheel,) = (place / "dist").glob("*.whl")
        if release_contents.listing(wheel) != release_contents.listing(dist / wheel.name):
            found.append(f"{sdist.name}: its wheel has other contents than {wheel.name}")
    return found


def descriptions(dist: Path) -> str:
    """Let twine render the descriptions; return what it says, or what is missing."""
    if find_spec("twine") is None:
        return "left out: how descriptions render (twine is missing: pip install twine)"
    archives = map(str, sorted(dist.iterdir()))
    run([sys.executable, "-m", "twine", "check", "--strict", *archives], dist, os.environ)
    return "descriptions render (twine)"


def check(out: Path, quick: bool = False) -> list[str]:
    """Build, look, install, try; return a line for each thing that is as it should be."""
    with tempfile.TemporaryDirectory() as scratch:
        archives = supply.built(Path(scratch, "checkout"))
        version = next(name.split("-")[1] for name in archives if name.endswith(".whl"))
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for name, content in archives.items():
            (out / name).write_bytes(content)
        wrong = release_contents.problems(archives, FOLDERS, version)
        wrong += [] if quick else rebuilt(out, Path(scratch, "sources"))
        if wrong:
            raise Failed("\n".join(wrong))
        done = [f"{name}  {len(content):,} bytes" for name, content in archives.items()]
        done.append(descriptions(out))
        home = Path(scratch, "home").resolve()
        environment = install(out, home, ["tcuq[demo,device,watch]", "tcuq-lab"])
        done.append("installed without a compiler" + (" and a network" if alone() else " and an index"))
        return done + try_out(home, environment, version)


def main(arguments: list[str] | None = None) -> int:
    """Run the check and print what it finds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "wheels", help="folder of the archives")
    parsed = parser.parse_args(arguments)
    for name in ("setuptools", "wheel"):
        if find_spec(name) is None:
            print(f"wheels: {name} is missing: pip install {name}", file=sys.stderr)
            return 2
    try:
        print(*check(parsed.out), sep="\n")
    except Failed as failed:
        print(f"wheels: {failed}", file=sys.stderr)
        return 1
    print(f"the archives are in {parsed.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
