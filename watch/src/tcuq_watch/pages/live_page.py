"""The live page: one document, its style and scripts inside, and the policy that lets in these alone."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from tcuq._version import VERSION
from tcuq.monitor.alarm import alarm_words
from tcuq.report.data import reasons
from tcuq.report.page import SHARED, asset, content_hash
from tcuq.report.text import escape


def own(name: str) -> str:
    """Return a script, style or page of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def closed(code: str) -> str:
    """Return a script with a scope of its own."""
    return f'(function () {{\n"use strict";\n{code}}})();'


@cache
def live_page() -> tuple[str, str]:
    """Return the page and its content security policy."""
    style = "\n" + asset("report.css") + own("live.css")
    code = closed("".join([*map(asset, SHARED), own("state.js"), own("hour.js"), own("live.js")]))
    page = own("live.html")
    for name, text in {
        "style": style,
        "rise": alarm_words(1),
        "fall": alarm_words(2),
        "version": escape(VERSION),
        "reasons": json.dumps(reasons()).replace("<", "\\u003c"),
        "code": code,
    }.items():
        page = page.replace(f"{{{name}}}", text, 1)
    policy = (
        f"default-src 'none'; script-src '{content_hash(code)}'; style-src '{content_hash(style)}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return page, policy
