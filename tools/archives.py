"""How every distribution is packed: archives that come out the same each time, links that lead somewhere.

A `setup.py` finds this file in tools/ of a checkout, and beside itself in a source archive.
"""

import bz2
import gzip
import json
import os
import posixpath
import re
import shutil
import sys
import sysconfig
import tarfile
import time
import zipfile
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info
from setuptools.command.sdist import sdist

# The time that every file of an archive has: 2020-01-01, unless a build asks for another.
MOMENT = int(os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800"))

# Buffers joined the stable ABI in 3.11; there, one wheel serves every later Python.
# Free-threaded builds have no stable ABI.
STABLE = (
    sys.version_info >= (3, 11)
    and sys.implementation.name == "cpython"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)
MACROS = [("Py_LIMITED_API", "0x030B0000")] if STABLE else []
OPTIONS = {"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {}

# Each compiler in its own words. Products are never fused with sums: some processors would round differently.
FLAGS = {
    "unix": ["-std=c99", "-O2", "-g0", "-ffp-contract=off", "-fvisibility=hidden"],
    "msvc": ["/std:c11", "/O2", "/fp:precise", "/utf-8"],
}
FLAGS["mingw32"] = FLAGS["unix"]
SECTIONS = ["-ffunction-sections", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]

PICTURES = (".gif", ".jpg", ".png", ".svg", ".webp")


class Build(build_ext):
    """An extension, with the options that its compiler knows."""

    def build_extensions(self):
        """Choose the options once the compiler is known."""
        for extension in self.extensions:
            extension.extra_compile_args = list(FLAGS.get(self.compiler.compiler_type, []))
            # Names for debuggers, functions that nobody calls and tables to unwind C++ exceptions, of which
            # there are none, would be a quarter of the extension.
            if sys.platform == "linux":
                extension.extra_compile_args += SECTIONS
                extension.extra_link_args = ["-s", "-Wl,--gc-sections"]
        super().build_extensions()


class Files(build_py):
    """The modules; of the files beside them, those of `texts` in one archive, which takes a quarter less."""

    texts: "tuple[str, ...]" = ()

    def _files(self) -> list[Path]:
        source = Path(self.get_package_dir(self.distribution.get_name()))
        return sorted(path for pattern in self.texts for path in source.glob(pattern))

    def get_source_files(self):
        """Return what a source archive has of the package, the texts too."""
        return [*super().get_source_files(), *(path.as_posix() for path in self._files())]

    def run(self):
        """Copy the modules and pack the texts, in order of their names; a checkout needs no archive."""
        super().run()
        if self.texts and not self.editable_mode:
            package = self.distribution.get_name()
            source = Path(self.get_package_dir(package))
            texts = {
                path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
                for path in self._files()
            }
            packed = bz2.compress(json.dumps(texts, ensure_ascii=False).encode())
            Path(self.build_lib, package, "texts.bz2").write_bytes(packed)


def absolute(page: str, path: str, version: str) -> str:
    """Return a Markdown page whose relative links lead to a tag of the repository, code left alone.

    The page is at `path` of the repository. Elsewhere, such as on PyPI, its relative links lead nowhere.
    """

    def resolved(target: str) -> str:
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
            return target
        file, mark, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        picture = place.lower().endswith(PICTURES)
        host = (
            "https://raw.githubusercontent.com/tcuq/tcuq" if picture else "https://github.com/tcuq/tcuq/blob"
        )
        return f"{host}/v{version}/{place}{mark}{anchor}"

    def replaced(found: "re.Match[str]") -> str:
        before, target = found["before"], found["target"]
        return found[0] if target is None else before + resolved(target)

    code = r"^(?P<fence>```+|~~~+).*?^(?P=fence)|`[^`\n]+`"
    link = r"""(?P<before>\]\(<?|^\[[^\]\n]+\]:[ ]+|\b(?:src|href|srcset)=["'])(?P<target>[^)>"'\s]+)"""
    return re.sub(f"{code}|{link}", replaced, page, flags=re.M | re.S)


class Info(egg_info):
    """Metadata whose description reads well away from the repository."""

    page = "README.md"

    def finalize_options(self):
        """Make the links of the description absolute."""
        super().finalize_options()
        about = self.distribution.metadata
        about.long_description = absolute(about.long_description, self.page, about.version)


def mode(before: int) -> int:
    """Return who may do what, whatever the builder's mask left: everybody reads, only the owner writes."""
    return 0o755 if before & 0o100 else 0o644


class Sdist(sdist):
    """A source archive whose bytes depend on its files alone."""

    def make_release_tree(self, base_dir, files):
        """Add this file, which `setup.py` needs."""
        super().make_release_tree(base_dir, files)
        shutil.copyfile(__file__, Path(base_dir, "archives.py"))

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """Write names in order, without times, owners and masks of the machine."""
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        target = Path(f"{base_name}.tar.gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(base_dir)
        with (
            target.open("wb") as plain,
            gzip.GzipFile("", "wb", 9, plain, MOMENT) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    entry = tarfile.TarInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
                    entry.size, entry.mtime, entry.mode = (
                        path.stat().st_size,
                        MOMENT,
                        mode(path.stat().st_mode),
                    )
                    with path.open("rb") as content:
                        archive.addfile(entry, content)
        return str(target)


class Wheel(bdist_wheel):
    """A wheel whose bytes depend on its files and the compiler alone."""

    def run(self):
        """Write the wheel, then write it again in plain form."""
        super().run()
        for _, _, name in self.distribution.dist_files:
            if name.endswith(".whl"):
                rewrite(Path(name))


def rewrite(wheel: Path) -> None:
    """Give every file of a wheel the same time and mode; names, order and contents stay."""
    rough = wheel.with_suffix(".rough")
    wheel.replace(rough)
    with zipfile.ZipFile(rough) as before, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            plain = zipfile.ZipInfo(entry.filename, time.gmtime(MOMENT)[:6])
            plain.compress_type, plain.create_system = zipfile.ZIP_DEFLATED, 3
            plain.external_attr = (0o100000 | mode(entry.external_attr >> 16)) << 16
            after.writestr(plain, before.read(entry), compresslevel=9)
    rough.unlink()


def commands(page: str, texts: "tuple[str, ...]" = ()) -> dict[str, type]:
    """Return the commands of setuptools for a distribution whose README is at `page` of the repository."""
    info = type("Info", (Info,), {"page": page})
    files = type("Files", (Files,), {"texts": texts})
    return {"build_ext": Build, "build_py": files, "egg_info": info, "sdist": Sdist, "bdist_wheel": Wheel}
