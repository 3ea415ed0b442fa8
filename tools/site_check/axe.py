# SPDX-License-Identifier: MIT
"""axe-core: where it is found, how it is installed, what it says of a page.

It is no part of the repository: npm puts it below out/axe.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from chromium import Tab

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "out" / "axe"
PACKAGE = "axe-core@4"
INSTALL = f"npm install --prefix out/axe {PACKAGE}"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Colors are asked for in every mode; targets are small for fingers, so they are asked for on a phone. These
# rules take longer than all others together and are asked for once a kind of element.
COLORS, TARGETS = ["color-contrast", "link-in-text-block"], ["target-size"]

# The first place of a rule is enough to find the others.
RUN = """(async (places, options) => {
  const found = await axe.run(places, { resultTypes: ["violations"], preload: false, ...options });
  return found.violations.map((rule) => {
    const node = rule.nodes[0], data = [...node.any, ...node.all, ...node.none][0]?.data || {};
    return {
      id: rule.id, help: rule.help, count: rule.nodes.length, target: node.target.flat().join(" "),
      html: node.html, ratio: data.contrastRatio, colors: [data.fgColor, data.bgColor],
    };
  });
})"""


class Axe:
    """The source of axe-core."""

    def __init__(self, path: Path) -> None:
        self.source = path.read_text(encoding="utf-8")
        self.passed: set[str] = set()
        told = re.search(r"axe v([\d.]+)", self.source[:500])
        self.version = told[1] if told else "of an unknown version"

    def structure(self, tab: Tab) -> list[str]:
        """Return what breaks the other rules of WCAG A and AA, one text a rule.

        Asked again at another width, it looks at what could not be seen before.
        """
        options = {
            "runOnly": {"type": "tag", "values": RULES},
            "rules": {rule: {"enabled": False} for rule in (*COLORS, *TARGETS)},
        }
        if tab.js("!siteCheck.structured"):
            tab.js("siteCheck.structured = true; siteCheck.newly(); 0")
            return self._run(tab, "document", options)
        if not tab.js("(siteCheck.fresh = siteCheck.newly()).length"):
            return []
        return self._run(tab, "siteCheck.fresh", options)

    def contrast(self, tab: Tab) -> list[str]:
        """Return which texts are too faint."""
        return self._kinds(tab, "chooseTexts", COLORS)

    def targets(self, tab: Tab) -> list[str]:
        """Return what is too small for a finger."""
        return self._kinds(tab, "chooseTargets", TARGETS)

    def _kinds(self, tab: Tab, choose: str, rules: list[str]) -> list[str]:
        """Run rules on what is of a kind that has not passed yet."""
        kinds = tab.js(f"siteCheck.{choose}({json.dumps(sorted(self.passed))})")
        found = []
        if kinds:
            found = self._run(tab, "siteCheck.chosen", {"runOnly": {"type": "rule", "values": rules}})
        tab.js("siteCheck.unhide()")
        if not found:
            self.passed.update(kinds)
        return found

    def _run(self, tab: Tab, places: str, options: dict[str, Any]) -> list[str]:
        if not tab.js("typeof axe === 'object'"):
            tab.js(self.source + "\n;0")
        return [said(one) for one in tab.js(f"{RUN}({places}, {json.dumps(options)})")]


def said(found: dict[str, Any]) -> str:
    """Return one violation in words.

    Examples
    --------
    >>> said({"id": "image-alt", "help": "Images must have alternative text", "count": 2, "target": "img",
    ...       "html": "<img>", "ratio": None, "colors": [None, None]})
    'axe image-alt: Images must have alternative text (2 times, first img: <img>)'
    """
    more = ""
    if found.get("ratio"):
        front, back = found["colors"]
        more = f"; {found['ratio']} to 1 of {front} on {back}"
    times = "once" if found["count"] == 1 else f"{found['count']} times, first"
    html = re.sub(r"\s+", " ", found["html"])[:120]
    return f"axe {found['id']}: {found['help']} ({times} {found['target']}: {html}{more})"


def find(given: Path | None = None) -> Path | None:
    """Return the path of axe.min.js, or None."""
    path = given or FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    return path if path.is_file() else None


def install() -> Path | None:
    """Install axe-core with npm where it is not there yet; None where npm or its registry is missing."""
    found, npm = find(), shutil.which("npm")
    if found or npm is None:
        return found
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [
        npm,
        "install",
        "--prefix",
        str(FOLDER),
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        PACKAGE,
    ]
    try:
        subprocess.run(command, cwd=FOLDER, timeout=120, capture_output=True, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return find()
