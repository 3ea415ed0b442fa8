"""Put the site of one version beside those of others: a folder each, and a page that leads to the newest.

    python tools/release_docs.py out/site pages 0.2.0

`pages` is what is published. `VERSION/` becomes the new site, `latest/` leads to the newest release, and
`versions.json` names all of them, newest first. Other versions are left alone. Exit status: 0; 2 with one
line.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

NUMBER = re.compile(r"\d+(\.\d+)+")
FORWARD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tcuq</title>
<meta http-equiv="refresh" content="0; url={target}">
<link rel="canonical" href="{target}">
<p><a href="{target}">The documentation of tcuq {version}</a></p>
</html>
"""


def order(version: str) -> tuple[int, ...]:
    """Return what versions are sorted by.

    Examples
    --------
    >>> sorted(["0.10.0", "0.9.1"], key=order)
    ['0.9.1', '0.10.0']
    """
    return tuple(map(int, version.split(".")))


def place(site: Path, pages: Path, version: str) -> list[str]:
    """Copy a site to its folder; return all versions there, newest first.

    Parameters
    ----------
    site : path
        What `make docs` wrote; a folder of the version's name inside is taken where there is one.
    pages : path
        Where the sites of all versions lie.
    version : str
        Such as ``0.2.0``.

    Raises
    ------
    ValueError
        Where the version is no number of a release, or the site has no first page.
    """
    if not NUMBER.fullmatch(version):
        raise ValueError(f"version is {version}, expected numbers and dots such as 0.2.0")
    source = site / version if (site / version / "index.html").exists() else site
    if not (source / "index.html").exists():
        raise ValueError(f"{source} has no index.html, expected the site of make docs")
    pages.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(pages / version, ignore_errors=True)
    shutil.copytree(source, pages / version)
    versions = sorted(
        (path.name for path in pages.iterdir() if path.is_dir() and NUMBER.fullmatch(path.name)),
        key=order,
        reverse=True,
    )
    newest = versions[0]
    (pages / "latest").mkdir(exist_ok=True)
    (pages / "latest" / "index.html").write_text(FORWARD.format(target=f"../{newest}/", version=newest))
    (pages / "index.html").write_text(FORWARD.format(target=f"{newest}/", version=newest))
    (pages / "versions.json").write_text(json.dumps(versions) + "\n")
    (pages / ".nojekyll").touch()  # folders such as _static are published as they are
    return versions


def main(arguments: list[str]) -> int:
    """Place one site."""
    if len(arguments) != 3:
        print("usage: release_docs.py SITE PAGES VERSION", file=sys.stderr)
        return 2
    try:
        versions = place(Path(arguments[0]), Path(arguments[1]), arguments[2].removeprefix("v"))
    except ValueError as wrong:
        print(f"release_docs: {wrong}", file=sys.stderr)
        return 2
    print("versions:", *versions)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
