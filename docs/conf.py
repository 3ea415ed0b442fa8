"""Settings of the documentation site: `make docs` builds it into out/site, offline."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "src"), str(ROOT / "lab" / "src")]

import tcuq  # noqa: E402

project = "tcuq"
author = "the tcuq authors"
copyright = author
version = release = tcuq.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "tcuq_site",
    "site_keys",
    "site_tables",
]
exclude_patterns = ["_ext", "_static", "RELEASING.md"]
nitpicky = True
# Docstrings name arguments, fields and names of other packages as they name what is in the reference.
nitpick_ignore_regex = [(r"py:.*", r".*"), (r"c:identifier", r"u?int\d+_t|size_t|TCUQ_MAX_GAUGES")]

tcuq_repository = "https://github.com/tcuq/tcuq"
tcuq_tag = f"v{tcuq.__version__}"
tcuq_children = {
    "RESULTS": ["results/*"],
}
"""Pages below a page that GitHub shows as well, which therefore has no list of them in itself."""
SEARCHED = {
    "START": "install getting started quickstart begin setup first steps",
    "index": "install installation pip",
    "concepts/when_not": "when not to use limitations drawbacks weaknesses disadvantages",
    "concepts/monitor": "ground truth glossary drift detection out-of-distribution uncertainty persistence",
    "results/alarms": "drift shift detection delay false alarms alarm per hour",
    "results/answers": "selective prediction selective risk abstention coverage",
    "results/accuracy": "accuracy estimation ATC label-free",
    "EXPORT": "export firmware arduino zephyr",
    "FLEET": "fleet devices",
    "DEVICE": "flash size RAM memory footprint",
    "TRUST": "proof bound guarantee",
}
"""Words that newcomers search for, by the page that the search shows first; the page must have them."""

myst_enable_extensions = ["attrs_inline", "attrs_block"]
myst_heading_anchors = 6

default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
smartquotes = False

html_theme = "furo"
# Colors of the reports.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0068a8",
        "color-brand-content": "#0068a8",
        "color-api-name": "#18202b",
        "color-api-pre-name": "#586374",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5bb6ee",
        "color-brand-content": "#5bb6ee",
        "color-api-name": "#e8ecf2",
        "color-api-pre-name": "#a0acbb",
    },
}
html_title = f"tcuq {tcuq.__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_context = {"searched": SEARCHED}
html_search_scorer = str(ROOT / "docs" / "_ext" / "scorer.js")
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/scroll-start.html",
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/navigation.html",
        "versions.html",
        "sidebar/scroll-end.html",
    ]
}
templates_path = ["_templates"]
linkcheck_ignore = [r"https://github\.com/tcuq/.*"]
