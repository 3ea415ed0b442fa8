"""The documentation site: links, references made from code, and (slow) the whole build."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import site_api
import site_c_page
import site_commands
import site_header
import site_links
import site_tables
import site_versions
from places import ROOT

DOCS = ROOT / "docs"
CORE = ROOT / "src" / "tcuq" / "core"
HEADERS = [CORE / "tcuq.h", *sorted((ROOT / "src" / "tcuq" / "export" / "c").glob("*.h"))]
MADE = re.compile(r"(?m)^<!-- made: (\w+) (.*?) -->$")
PACKAGES = [
    "tcuq",
    "tcuq.audit",
    "tcuq.export",
    "tcuq.fitting",
    "tcuq.fleet",
    "tcuq.fleet.spark",
    "tcuq.io",
    "tcuq.metrics",
    "tcuq.recording.start",
    "tcuq.report",
    "tcuq.torch",
    "tcuq_lab.bench",
]
"""Parts whose `__all__` the reference shows whole."""


@pytest.mark.parametrize(
    "module", [site_api, site_c_page, site_commands, site_header, site_links, site_tables, site_versions]
)
def test_examples_in_docstrings_of_the_extension(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.failed == 0
    assert found.attempted > 0


# Links


@pytest.fixture
def links(tmp_path: Path) -> site_links.Links:
    for name, text in {
        "SPEC.md": "# Spec\n",
        "src/a.c": "",
        "docs/A.md": "# A\n",
        "README.md": "# R\n",
        "docs/index.md": "# I\n",
        "docs/reference/spec.md": "<!-- page: ../../SPEC.md -->\n",
        "docs/tutorials/README.md": "# T\n",
        "docs/tutorials/n.ipynb": "{}",
        "docs/p.png": "",
        "docs/q.png": "",
        "docs/q-dark.png": "",
        "docs/r.svg": "",
        "docs/r-light.svg": "",
        "docs/r-dark.svg": "",
        "docs/_ext/x.md": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return site_links.Links(tmp_path, site_links.page_map(tmp_path / "docs"), "https://x.org/r", "v1")


@pytest.mark.parametrize(
    ("home", "page", "text", "expected"),
    [
        ("docs/A.md", "docs/A.md", "[s](../SPEC.md#one)", "[s](reference/spec.md#one)"),
        ("SPEC.md", "docs/reference/spec.md", "[a](docs/A.md)", "[a](../A.md)"),
        ("SPEC.md", "docs/reference/spec.md", "![p](docs/p.png)", "![p](../p.png)"),
        ("docs/A.md", "docs/A.md", "[c](../src/a.c#L3)", "[c](https://x.org/r/blob/v1/src/a.c#L3)"),
        ("docs/A.md", "docs/A.md", "[c](../src)", "[c](https://x.org/r/tree/v1/src)"),
        ("docs/A.md", "docs/A.md", "[c](../src/)", "[c](https://x.org/r/tree/v1/src)"),
        ("docs/A.md", "docs/A.md", "[r](../README.md)", "[r](index.md)"),
        ("docs/A.md", "docs/A.md", "[n](tutorials/n.ipynb)", "[n](tutorials/n.ipynb)"),
        ("docs/A.md", "docs/A.md", "[t](tutorials/)", "[t](tutorials/README.md)"),
        ("docs/A.md", "docs/A.md", "[x](_ext/x.md)", "[x](https://x.org/r/blob/v1/docs/_ext/x.md)"),
        ("docs/A.md", "docs/A.md", "[h](#here) [w](https://a.b/c)", "[h](#here) [w](https://a.b/c)"),
        ("docs/A.md", "docs/A.md", '[s](../SPEC.md "title")', '[s](reference/spec.md "title")'),
        ("docs/A.md", "docs/A.md", "[s]: ../SPEC.md", "[s]: reference/spec.md"),
        ("docs/A.md", "docs/A.md", "[`s`](../SPEC.md)", "[`s`](reference/spec.md)"),
        ("docs/A.md", "docs/A.md", "`[s](../SPEC.md)`", "`[s](../SPEC.md)`"),
        ("docs/A.md", "docs/A.md", "```md\n[s](../SPEC.md)\n```\n", "```md\n[s](../SPEC.md)\n```\n"),
        ("docs/A.md", "docs/A.md", "[![p](p.png)](../SPEC.md)", "[![p](p.png)](reference/spec.md)"),
        ("docs/A.md", "docs/A.md", "![q](q.png)", "![q](q.png){.only-light} ![q](q-dark.png){.only-dark}"),
        (
            "docs/A.md",
            "docs/A.md",
            "![r](r.svg)",
            "![r](r-light.svg){.only-light} ![r](r-dark.svg){.only-dark}",
        ),
        (
            "docs/A.md",
            "docs/A.md",
            '<picture>\n<source media="(prefers-color-scheme: dark)" srcset="q-dark.png">\n'
            '<img alt="q" src="q.png">\n</picture>',
            "![q](q.png){.only-light} ![q](q-dark.png){.only-dark}",
        ),
    ],
)
def test_links_lead_to_pages_or_to_the_tag(
    links: site_links.Links, home: str, page: str, text: str, expected: str
) -> None:
    assert links.rewrite(text, links.root / home, links.root / page) == expected
    assert links.missing == []


@pytest.mark.parametrize("link", ["gone.md", "../src/b.c", "../../outside.md"])
def test_a_link_that_leads_nowhere_is_told(links: site_links.Links, link: str) -> None:
    links.rewrite(f"[x]({link})", links.root / "docs/A.md", links.root / "docs/A.md")
    assert links.missing == [f"docs/A.md: {link} is not in the checkout"]


def test_every_wrapper_names_a_file() -> None:
    for page in DOCS.rglob("*.md"):
        other = site_links.included(page.read_text(encoding="utf-8"), page)
        assert other is None or other.is_file(), page


# C


def public_names(path: Path) -> set[str]:
    """Names that a header gives to its users, as the compiler would see them; found without the parser."""
    text = re.sub(r"(?s)/\*.*?\*/", "", path.read_text(encoding="utf-8"))
    text = re.sub(r"(?s)\{(?!\s*extern).*?\n\}", "{}", text.replace('extern "C" {', ""))
    names = set(re.findall(r"(?m)^#define (TCUQ_\w+)", text)) - {f"{path.stem.upper()}_H"}
    names |= set(re.findall(r"\} ?(tcuq_\w+);", text))
    names |= set(re.findall(r"(?m)^(?!#)[\w *]*\b(tcuq_\w+)\(", text))
    return names | set(re.findall(r"(?m)^enum (\w+)", text))


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_every_public_symbol_of_a_header_is_on_the_page_with_its_comment(path: Path) -> None:
    page = site_c_page.header_page(path)
    expected = public_names(path)
    assert expected
    missing = [name for name in sorted(expected) if not re.search(rf"\b{name}\b", page)]
    assert not missing
    symbols = {re.sub(r"\(.*", "", each.name): each for each in site_header.read_header(path).symbols}
    assert expected <= set(symbols)
    for each in symbols.values():
        comment = each.comment or each.shared
        assert site_c_page.named(comment.split("\n")[0]).replace("|", "") in page.replace("\\|", "").replace(
            "|", ""
        )


def test_all_parameters_and_their_errors_are_on_the_page() -> None:
    page = site_c_page.header_page(CORE / "tcuq.h") + site_c_page.errors_page(CORE / "tcuq_fields.h")
    text = (CORE / "tcuq_fields.h").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^    (NUMBER|LIST|TABLE|HEAD|X)\((\w+),", text)
    assert len(rows) > 60
    for macro, name in rows:
        assert macro == "X" or f"| `{name}` |" in page, name
        assert macro not in ("NUMBER", "X") or re.search(rf"`TCUQ_ERR_[A-Z]+_{name}`", page), name


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("#define TCUQ_A 1\n", "TCUQ_A"),
        ("/* About A. */\n#define TCUQ_A 1\n\nint tcuq_f(void);\n", "tcuq_f"),
        ("/* S. */\ntypedef struct {\n    int a;\n} tcuq_s;\n", "tcuq_s.a"),
        ("/* E. */\nenum tcuq_e {\n    TCUQ_X = 1, /* x */\n    TCUQ_Y\n};\n", "tcuq_e.TCUQ_Y"),
    ],
)
def test_a_symbol_without_a_comment_is_refused(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "a.h"
    path.write_text(f"/* The file. */\n#ifndef A_H\n#define A_H\n\n{text}\n#endif\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"^a.h: {re.escape(named)} has no comment"):
        site_header.read_header(path)


# Commands


def stubs(kind: str) -> Iterator[tuple[Path, list[str]]]:
    for page in sorted((DOCS / "reference").glob("*.md")):
        for found in MADE.findall(page.read_text(encoding="utf-8")):
            if found[0] == kind:
                yield page, found[1].split()


@pytest.mark.parametrize("program", ["tcuq", "tcuq-lab"])
def test_every_command_and_option_is_on_a_page(program: str) -> None:
    parser = import_module("tcuq.cli" if program == "tcuq" else "tcuq_lab.cli").build_parser()
    text = ""
    for _, words in stubs("commands"):
        if words[0] == program:
            text += site_commands.commands_page(
                site_commands.command_at(parser, words[1:]), words != ["tcuq"]
            )
    sections = dict(re.findall(r"(?ms)^## `([^`]+)`\n(.*?)(?=^## |\Z)", text))
    commands = [each for each, _ in site_commands.commands_of(parser)]
    assert sorted(each.prog for each in commands) == sorted(sections)
    assert len(commands) > 10
    for each in commands:
        shown = sections[each.prog]
        assert each.format_usage().split()[1] in shown
        for action in (action for action in each._actions if action.help != "==SUPPRESS=="):
            for option in action.option_strings:
                assert option in ("-h", "--help") or f"`{option}" in shown, (each.prog, option)


def test_a_command_shows_its_defaults_choices_and_example() -> None:
    parser = import_module("tcuq.cli").build_parser()
    fit = site_commands.section(site_commands.command_at(parser, ["fit"]))
    assert "```sh\ntcuq fit" in fit
    assert re.search(r"\| `--profile [^|]*\| .*extended", fit)
    assert "| required |" in fit
    assert re.search(r"\| `--budget X` \| [^|(]* \| 0\.15 \|", fit)


# Python


def test_every_public_name_is_in_the_reference() -> None:
    shown = {
        f"{words[0]}.{name}"
        for _, words in stubs("api")
        for name in words[1:] or site_api.offered(import_module(words[0]))
    }
    for package in PACKAGES:
        for name in site_api.offered(import_module(package)):
            # A name that the top of the package offers as well is shown there.
            assert f"{package}.{name}" in shown or f"tcuq.{name}" in shown, f"{package}.{name}"


def test_names_of_the_reference_exist_and_say_what_they_are() -> None:
    for _, words in stubs("api"):
        module = import_module(words[0])
        for name in words[1:] or site_api.offered(module):
            value = getattr(module, name)
            assert value.__doc__ if callable(value) else site_api.said_of(module, name), name


# Versions


def test_versions_are_those_of_the_changelog() -> None:
    assert (DOCS / "versions.json").read_text(encoding="utf-8") == site_versions.made(), (
        "run python docs/_ext/site_versions.py"
    )
    listed = [each["version"] for each in json.loads(site_versions.made())]
    assert listed == sorted(listed, key=lambda text: [int(part) for part in text.split(".")], reverse=True)
    assert import_module("tcuq").__version__ in listed


# The whole site


class Page(HTMLParser):
    """What a page loads, where its links lead, and which places it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in given}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.loads.append(values.get("href", ""))
        elif tag != "a":
            self.loads += [values[name] for name in ("src", "srcset", "poster", "data") if name in values]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("sphinx", "myst_parser", "numpydoc", "furo"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is missing (pip install -e '.[docs]')")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 80
    for path, page in pages.items():
        for each in page.loads:
            assert not re.match(r"(?:https?:)?//", each), (path.name, each)
            if each and not each.startswith("data:"):
                target = path.parent / unquote(urlsplit(each).path)
                assert target.is_file(), (path.name, each)
    for style in site.rglob("*.css"):
        assert not re.search(
            r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")
        ), style


@pytest.mark.slow
def test_wide_tables_and_pictures_are_marked(site: Path) -> None:
    page = (site / "concepts" / "monitor.html").read_text(encoding="utf-8")
    assert re.search(r'<p class="picture"><img [^>]*step-light\.svg', page)
    assert re.search(r'<p class="picture"><img [^>]*class="only-light"[^>]*report\.png', page)
    assert re.search(r'<td class="[^"]*\blong longer\b', (site / "CLAIMS.html").read_text(encoding="utf-8"))
    assert re.search(
        r'<td class="[^"]*\brow-name\b', (site / "FLEET_NUMBERS.html").read_text(encoding="utf-8")
    )
    sheets = (site / "corruptions" / "README.html").read_text(encoding="utf-8")
    assert re.search(r'<a [^>]*href="../_images/mnist_c\.png"><img', sheets)


@pytest.mark.slow
def test_links_within_the_site_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for each in page.links:
            parts = urlsplit(each)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path.name, each)
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].places, (path.name, each)


@pytest.mark.slow
def test_links_to_sources_name_the_tag_of_this_version(pages: dict[Path, Page]) -> None:
    version = import_module("tcuq").__version__
    found = [link for page in pages.values() for link in page.links if "github.com/tcuq/tcuq/blob/" in link]
    assert found
    assert all(f"/blob/v{version}/" in link for link in found)


@pytest.mark.slow
def test_search_and_versions_need_no_server(site: Path) -> None:
    assert (site / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")
    text = (site / "index.html").read_text(encoding="utf-8")
    version = import_module("tcuq").__version__
    assert f"tcuq {version}" in text
    assert f"<strong>{version}</strong> (these pages)" in text
    assert "_static/favicon.svg" in text
