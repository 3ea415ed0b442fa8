"""What the archives of a release must hold, and what they must not."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

# Files of the source folder that a wheel leaves out: the extension is compiled from them.
SOURCE_ONLY = ("tcuq/binding/", "tcuq_watch/native/")
# Files that a wheel has in one archive (setup.py).
PACKED = re.compile(r"tcuq/((core|export/c|report)/\w+\.(c|h|txt|css|js)|export/templates/.+\.in)")
# Files beside src/ in a source archive.
BESIDE = {
    *("LICENSE", "MANIFEST.in", "PKG-INFO", "README.md"),
    *("archives.py", "pyproject.toml", "setup.cfg", "setup.py"),
}
# What a package needs beside numpy; of ours, this very version.
NEEDED = {
    "tcuq": set[str](),
    "tcuq_device": {"tcuq"},
    "tcuq_watch": {
        "tcuq",
        "paho-mqtt>=2.0",
        "pyserial>=3.5",
        "h11>=0.14",
        "starlette>=0.37",
        "uvicorn>=0.30",
    },
    "tcuq_lab": {"tcuq", "tcuq-device"},
}
COMPILED = ("tcuq", "tcuq_watch")
EXTENSION = re.compile(r"(tcuq/_core|tcuq_watch/_native)\.[\w.-]*(so|pyd)")
RELATIVE = re.compile(r"""\]\((?!https?:|mailto:)[^)\s]+|(?:src|href)=["'](?!https?:)[^"']+""")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)


def sources(source: Path) -> set[str]:
    """Return the files of a package in the checkout, as they are named below src."""
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        path.relative_to(source.parent).as_posix()
        for path in files
        if path.suffix not in (".so", ".pyd", ".pyc")
    }


def differences(found: set[str], expected: set[str]) -> list[str]:
    """Return what is missing and what is too much, a line each."""
    return [
        *(f"{name} is missing" for name in sorted(expected - found)),
        *(f"{name} does not belong there" for name in sorted(found - expected)),
    ]


def metadata_problems(about: Message, package: str, version: str) -> list[str]:
    """Return what is wrong with the metadata of an archive."""
    problems = []
    name = package.replace("_", "-")
    if (about["Name"], about["Version"]) != (name, version):
        problems.append(f"metadata names {about['Name']} {about['Version']}, expected {name} {version}")
    needed = [text for text in about.get_all("Requires-Dist", []) if "extra ==" not in text]
    asked = NEEDED[package]
    expected = {"numpy>=1.24"} | {f"{each}=={version}" if each.startswith("tcuq") else each for each in asked}
    if set(needed) != expected:
        problems.append(f"metadata requires {', '.join(needed)}, expected {', '.join(sorted(expected))}")
    page = str(about.get_payload())
    if about["Description-Content-Type"] != "text/markdown" or len(page) < 500:
        problems.append("metadata has no description in Markdown")
    problems += [
        f"the description has the relative link {link!r}" for link in RELATIVE.findall(CODE.sub("", page))
    ]
    return problems


def wheel_problems(wheel: bytes, source: Path, version: str) -> list[str]:
    """Return what is wrong with a wheel of the package in a source folder."""
    package = source.name
    info = f"{package}-{version}.dist-info"
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = set(archive.namelist())
        packed = f"{info}/METADATA"
        about = message_from_bytes(archive.read(packed)) if packed in names else Message()
    extensions = {name for name in names if EXTENSION.fullmatch(name)}
    files = sources(source)
    expected = {name for name in files if not (name.startswith(SOURCE_ONLY) or PACKED.fullmatch(name))}
    expected |= {"tcuq/texts.bz2" for name in files if PACKED.fullmatch(name)}
    expected |= {f"{info}/{file}" for file in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    expected |= {f"{info}/top_level.txt", f"{info}/licenses/LICENSE"}
    problems = differences(names - extensions, expected)
    if len(extensions) != (package in COMPILED):
        problems.append(f"{len(extensions)} compiled modules, expected {int(package in COMPILED)}")
    return problems + metadata_problems(about, package, version)


def sdist_problems(sdist: bytes, source: Path, version: str) -> list[str]:
    """Return what is wrong with a source archive of the package in a source folder."""
    package = source.name
    folder = f"{package}-{version}/"
    with tarfile.open(fileobj=io.BytesIO(sdist)) as archive:
        names = {member.name for member in archive.getmembers()}
        packed = archive.extractfile(f"{folder}PKG-INFO") if f"{folder}PKG-INFO" in names else None
        about = message_from_bytes(packed.read()) if packed else Message()
    made = f"{folder}src/{package}.egg-info/"
    expected = {folder + name for name in BESIDE} | {f"{folder}src/{name}" for name in sources(source)}
    problems = differences({name for name in names if not name.startswith(made)}, expected)
    return problems + metadata_problems(about, package, version)


def listing(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name, without its list of digests."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def problems(archives: dict[str, bytes], folders: list[Path], version: str) -> list[str]:
    """Return what is wrong with the archives of some packages, a line each, with the archive's name."""
    found = []
    for source in folders:
        ours = {name: data for name, data in archives.items() if name.startswith(f"{source.name}-{version}")}
        wheels = [name for name in ours if name.endswith(".whl")]
        sdists = [name for name in ours if name.endswith(".tar.gz")]
        if not wheels or len(sdists) != 1:
            found.append(f"{source.name}: {len(wheels)} wheels and {len(sdists)} source archives")
        for name in wheels:
            found += [f"{name}: {text}" for text in wheel_problems(ours[name], source, version)]
        for name in sdists:
            found += [f"{name}: {text}" for text in sdist_problems(ours[name], source, version)]
    return found
