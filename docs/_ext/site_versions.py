"""The releases that the changelog tells of, for the list of versions in the site.

``python docs/_ext/site_versions.py`` writes docs/versions.json again, after a release.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/tcuq/tcuq"


def releases(changelog: str) -> list[dict[str, str]]:
    r"""Return the versions of a changelog, newest first, each with where its documentation is.

    Parameters
    ----------
    changelog : str
        Markdown with one heading of the second level a release.

    Examples
    --------
    >>> releases("## 0.2.0\n### A\n## 0.1.0 (2025)\n")[1]
    {'version': '0.1.0', 'url': 'https://github.com/tcuq/tcuq/tree/v0.1.0/docs'}
    """
    found = re.findall(r"(?m)^## v?(\d+\.\d+\.\d+\S*)", changelog)
    return [{"version": each, "url": f"{REPOSITORY}/tree/v{each}/docs"} for each in found]


def made() -> str:
    """Return what docs/versions.json holds for the changelog of this checkout."""
    return json.dumps(releases((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")), indent=2) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "versions.json").write_text(made(), encoding="utf-8")
