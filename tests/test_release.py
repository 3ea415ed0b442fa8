"""What a release must agree on, and what the changelog says of names that moved."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import release_docs
import release_notes
from places import ROOT

import tcuq
from tcuq.cli import moved

CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """Return the program that the release workflow runs."""
    spec = importlib.util.spec_from_file_location("check_release", ROOT / ".github/check_release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small checkout that may be released as v1.2.3."""
    (tmp_path / "src/tcuq").mkdir(parents=True)
    (tmp_path / "src/tcuq/_version.py").write_text('VERSION = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n## 1.2.3 - 2030-01-02\n\n- New.\n\n## 1.2.2\n\n- Old.\n"
    )
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.3\n")
    return tmp_path


def test_a_release_that_agrees_is_let_through(check: ModuleType, root: Path) -> None:
    assert check.problem("v1.2.3", root) == ""


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "said"),
    [
        ("v1.2.4", "CITATION.cff", "", "", "tag is v1.2.4, expected v1.2.3"),
        ("1.2.3", "CITATION.cff", "", "", "tag is 1.2.3, expected v1.2.3"),
        ("v1.2.3", "CHANGELOG.md", "1.2.3", "1.2.30", "no entry '## 1.2.3'"),
        ("v1.2.3", "CHANGELOG.md", " - 2030-01-02", "", "no date"),
        ("v1.2.3", "CHANGELOG.md", "- New.", "", "is empty"),
        ("v1.2.3", "CITATION.cff", "1.2.3", "1.2.2", "CITATION.cff does not say"),
        ("v1.2.3", "src/tcuq/_version.py", "VERSION", "NUMBER", "names no VERSION"),
        ("v1.2.3rc1", "src/tcuq/_version.py", "1.2.3", "1.2.3rc1", "expected X.Y.Z"),
        ("v1.2.3", "CHANGELOG.md", "1.2.3", "1.2.3rc1", "no entry '## 1.2.3'"),
    ],
)
def test_a_release_that_disagrees_is_refused(
    check: ModuleType, root: Path, tag: str, file: str, old: str, new: str, said: str
) -> None:
    path = root / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert said in check.problem(tag, root)


def test_the_program_says_one_line_and_exits_with_2(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / ".github/check_release.py")]
    for arguments in (["v0.0.0"], []):
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == "" and len(done.stderr.splitlines()) == 1


def test_version_and_citation_agree() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited is not None and cited[1] == tcuq.__version__


def test_the_changelog_names_every_module_and_command_that_moved() -> None:
    rows = dict(re.findall(r"^\| `([^|]+)` \| `([^|]+)` \|$", CHANGES, re.M))
    assert "The first ten modules" in CHANGES and len(tcuq._MOVED) == 10
    modules = [old for old in rows if re.fullmatch(r"tcuq\.\w+", old)]
    assert modules[:10] == [f"tcuq.{old}" for old in sorted(tcuq._MOVED)]
    for old, new in tcuq._MOVED.items():
        assert rows[f"tcuq.{old}"] == f"tcuq.{new}"
    for new in (new for old, new in rows.items() if old.startswith("tcuq.") and "," not in old + new):
        assert importlib.util.find_spec(new) is not None, new
    for name in moved.COMMANDS:
        assert rows[f"tcuq {name}"] == f"tcuq-lab {name}"
    for name in tcuq._LAB:
        assert f"`tcuq.{name}`" in CHANGES


def test_versions_come_newest_first() -> None:
    found = re.findall(r"^## (\d[\d.]*)", CHANGES, re.M)
    assert found[0] == tcuq.__version__
    numbers = [tuple(map(int, each.split("."))) for each in found]
    assert numbers == sorted(set(numbers), reverse=True)


LOG = (
    "# Changes\n\n## 1.10.0 - 2030-01-02\n\nLayout 4.\n\n- New ([page](docs/A.md#b)).\n\n"
    "## 1.1.0\n\n- Old.\n\n## 1.0.0\n"
)


def test_notes_are_the_entry_of_one_version_with_absolute_links() -> None:
    assert release_notes.notes(LOG, "1.1.0") == "- Old.\n"
    assert release_notes.notes(LOG, "1.10.0") == (
        "Layout 4.\n\n- New ([page](https://github.com/tcuq/tcuq/blob/v1.10.0/docs/A.md#b)).\n"
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.1", "version is 1.1, expected one of CHANGELOG.md: 1.10.0, 1.1.0, 1.0.0"),
        ("1.0.0", "CHANGELOG.md: the entry of 1.0.0 is empty"),
    ],
)
def test_notes_of_no_version_are_refused(version: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        release_notes.notes(LOG, version)


def test_the_notes_of_this_version_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main([f"v{tcuq.__version__}"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) > 10 and "\n## " not in printed
    links = re.findall(r"\]\(([^)\s]+)", printed)
    assert links and all(link.startswith("https://github.com/tcuq/tcuq/blob/v") for link in links)
    for arguments in (["9.9.9"], [], ["--help"]):
        assert release_notes.main(arguments) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)


def site(folder: Path, text: str) -> Path:
    (folder / "_static").mkdir(parents=True)
    (folder / "index.html").write_text(text)
    (folder / "_static" / "style.css").write_text("")
    return folder


def test_every_version_has_a_folder_and_the_newest_is_led_to(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    for version in ("0.9.0", "0.10.0", "0.9.1"):
        release_docs.place(site(tmp_path / version, version), pages, version)
    assert json.loads((pages / "versions.json").read_text()) == ["0.10.0", "0.9.1", "0.9.0"]
    for version in ("0.9.0", "0.10.0", "0.9.1"):
        assert (pages / version / "index.html").read_text() == version
        assert (pages / version / "_static" / "style.css").exists()
    for page, target in (("index.html", "0.10.0/"), ("latest/index.html", "../0.10.0/")):
        text = (pages / page).read_text()
        assert f'url={target}"' in text and (pages / page).parent.joinpath(target, "index.html").exists()
    assert (pages / ".nojekyll").exists()


def test_every_page_of_every_version_lists_all_versions(tmp_path: Path) -> None:
    """Also pages of an old version, which was made before the newer ones were known."""
    jinja2 = pytest.importorskip("jinja2", reason="jinja2 is missing: pip install jinja2")
    sidebar = jinja2.Template((ROOT / "docs/_templates/versions.html").read_text(encoding="utf-8"))
    pages, known = tmp_path / "pages", [{"version": "0.1.0", "url": "https://x.org/tree/v0.1.0/docs"}]
    for version in ("0.2.0", "0.10.0"):
        known.insert(0, {"version": version, "url": f"https://x.org/tree/v{version}/docs"})
        made = site(tmp_path / version, "")
        (made / "results").mkdir()
        for name in ("index.html", "results/deep.html"):
            (made / name).write_text(
                f"<p>é</p>{sidebar.render(tcuq_versions=known, release=version)}", "utf-8"
            )
        for _ in range(2):  # placed again, nothing is listed twice
            release_docs.place(made, pages, version)
    for page in pages.glob("0.*/**/*.html"):
        text = page.read_text(encoding="utf-8")
        own = page.relative_to(pages).parts[0]
        assert text.startswith("<p>é</p>") and re.findall(r">(0[\d.]+)<", text) == [
            "0.10.0",
            "0.2.0",
            "0.1.0",
        ]
        assert f"<strong>{own}</strong> (these pages)" in text
        one, old = re.findall(r'href="([^"]+)"', text)
        other = {"0.2.0": "0.10.0", "0.10.0": "0.2.0"}[own]
        assert (page.parent / one).resolve() == (pages / other / "index.html").resolve()
        assert old == "https://x.org/tree/v0.1.0/docs", "that version has no folder"


def test_a_version_that_comes_again_replaces_its_folder(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    (site(pages / "1.0", "old") / "gone.html").write_text("")
    inside = tmp_path / "site"
    site(inside / "1.0", "new")  # a folder of the version's name inside
    assert release_docs.place(inside, pages, "1.0") == ["1.0"]
    assert (pages / "1.0/index.html").read_text() == "new" and not (pages / "1.0/gone.html").exists()


def test_a_site_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = site(tmp_path / "site", "")
    for words in ([tmp_path, "1.0"], [made, "../1.0"], [made, "main"]):
        assert release_docs.main([str(words[0]), str(tmp_path / "pages"), str(words[1])]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "pages").exists()
    assert release_docs.main([str(made)]) == 2
