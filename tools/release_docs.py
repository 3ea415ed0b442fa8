"""Put the site of one version beside those of others: a folder each, and a page that leads to the newest.

    python tools/release_docs.py out/site pages 0.2.0

`pages` is what is published. `VERSION/` becomes the new site, `latest/` leads to the newest release, and
`versions.json` names all of them, newest first. The list of versions in the sidebar of every page leads to
these folders; nothing else of other versions is changed. Exit status: 0; 2 with one line.
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


# What docs/_templates/versions.html writes.
LIST = re.compile(r'(<div class="versions">.*?<ul>)(.*?)(</ul>)', re.S)
ITEM = re.compile(r"<li>.*?>(\d+(?:\.\d+)+\w*)<.*?</li>", re.S)


def relisted(page: str, up: str, version: str, versions: list[str]) -> str:
    """Return a page whose list of versions leads to their folders.

    Examples
    --------
    >>> page = '<div class="versions"><ul><li><a href="x">0.1.0</a></li></ul></div>'
    >>> relisted(page, "../", "0.2.0", ["0.3.0", "0.2.0"]).count("<li>")
    3
    """

    def made(found: re.Match[str]) -> str:
        others = [item[0] for item in ITEM.finditer(found[2]) if item[1] not in versions]
        ours = [
            f"<li><strong>{each}</strong> (these pages)</li>"
            if each == version
            else f'<li><a href="{up}{each}/index.html">{each}</a></li>'
            for each in versions
        ]
        return found[1] + "\n    " + "\n    ".join([*ours, *others]) + "\n  " + found[3]

    return LIST.sub(made, page)


def place(site: Path, pages: Path, version: str) -> list[str]:
    """Copy a site to its folder; return all versions there, newest first."""
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
    for each in versions:
        for path in (pages / each).rglob("*.html"):
            before = path.read_text(encoding="utf-8")
            up = "../" * (len(path.relative_to(pages).parts) - 1)
            after = relisted(before, up, each, versions)
            if after != before:
                path.write_text(after, encoding="utf-8")
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
