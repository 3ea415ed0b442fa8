"""Build the archives of every distribution twice, in different places, and say what is in them.

`python tools/supply.py` fails when two builds differ in one byte. It writes the archives, their digests
(`SHA256SUMS`) and a bill of materials (CycloneDX) into `out/supply`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = """
import sys
from setuptools import build_meta
target = sys.argv[1]  # the builds set others
build_meta.build_sdist(target)
build_meta.build_wheel(target)
"""
# What is packed: what an earlier build left in a checkout is not.
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.egg-info")
PACKAGES = {"tcuq": ".", "tcuq_device": "device", "tcuq_watch": "watch", "tcuq_lab": "lab"}  # with its folder


def copied(place: Path) -> None:
    """Copy what the archives are made of to a place."""
    for package, folder in PACKAGES.items():
        source = Path("src", package)
        shutil.copytree(ROOT / folder / source, place / folder / source, ignore=LEFT_OUT)
        for name in FILES:
            shutil.copy(ROOT / folder / name, place / folder / name)
    (place / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "archives.py", place / "tools")


def built(place: Path, mask: int = 0o022, zone: str = "UTC") -> dict[str, bytes]:
    """Build the archives from a copy of the checkout in a place, under a mask and a time zone."""
    copied(place)
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode & ~mask)
    target = place.parent / f"dist-{zone.replace('/', '-')}"
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    environment |= {"TZ": zone, "PYTHONHASHSEED": str(mask)}
    command = [sys.executable, "-c", BUILD, str(target)]
    for folder in PACKAGES.values():
        done = subprocess.run(
            command, cwd=place / folder, env=environment, capture_output=True, text=True, umask=mask
        )
        if done.returncode != 0:
            raise SystemExit(f"supply: the build failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def twice(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Build in two places that have as little in common as one machine allows."""
    first = built(folder / "one", 0o022, "UTC")
    return first, built(folder / "another place" / "deeper", 0o077, "Asia/Tokyo")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def needs(wheel: Path) -> list[str]:
    """Return what a wheel says it needs, extras included."""
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        found = PathDistribution(zipfile.Path(archive, info + "/"))
        return [text for text in found.requires or () if "extra == 'dev'" not in text.replace('"', "'")]


def bill(version: str, archives: dict[str, bytes], required: list[str]) -> dict[str, Any]:
    """Return the bill of materials: what we ship, and what has to be there beside it.

    Nothing of others is inside our archives, so every component beside ours is a dependency. Its `scope` says
    whether the product needs it or an extra does.
    """
    us = f"pkg:pypi/tcuq@{version}"
    asked: dict[str, list[str]] = {}
    for text in sorted(required):
        asked.setdefault(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0], []).append(text)
    parts: list[dict[str, Any]] = [
        {
            "type": "library",
            "name": name,
            "purl": f"pkg:pypi/{name.lower()}",
            "bom-ref": f"pkg:pypi/{name.lower()}",
            "scope": "optional" if all("extra ==" in text for text in texts) else "required",
            "properties": [{"name": "requirement", "value": text} for text in texts],
        }
        for name, texts in asked.items()
    ]
    main = {
        "type": "library",
        "name": "tcuq",
        "version": version,
        "purl": us,
        "bom-ref": us,
        "licenses": [{"license": {"id": "MIT"}}],
        "externalReferences": [
            {"type": "distribution", "url": name, "hashes": [{"alg": "SHA-256", "content": digest(content)}]}
            for name, content in archives.items()
        ],
    }
    # Of the archives alone, so that the same archives have the same bill.
    serial = uuid.uuid5(uuid.NAMESPACE_URL, "".join(sorted(map(digest, archives.values()))))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": main},
        "components": parts,
        "dependencies": [
            {"ref": us, "dependsOn": sorted(p["bom-ref"] for p in parts if p["scope"] == "required")}
        ],
    }


def main(arguments: list[str] | None = None) -> int:
    """Build twice, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "supply", help="folder of the archives")
    out: Path = parser.parse_args(arguments).out
    with tempfile.TemporaryDirectory() as scratch:
        first, second = twice(Path(scratch))
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            print(f"supply: two builds of {name} differ")
            return 1
    out.mkdir(parents=True, exist_ok=True)
    for name, content in first.items():
        (out / name).write_bytes(content)
    wheel = next(name for name in first if name.startswith("tcuq-") and name.endswith(".whl"))
    version = wheel.split("-")[1]
    ours = {name: content for name, content in first.items() if name.startswith("tcuq-")}
    listed = json.dumps(bill(version, ours, needs(out / wheel)), indent=2) + "\n"
    sums = {**first, f"tcuq-{version}.cdx.json": listed.encode()}
    (out / f"tcuq-{version}.cdx.json").write_text(listed)
    (out / "SHA256SUMS").write_text("".join(f"{digest(content)}  {name}\n" for name, content in sums.items()))
    for name, content in sums.items():
        print(f"{digest(content)}  {name}  {len(content):,} bytes")
    print(f"two builds are equal byte for byte; {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
