"""Archives of a release: what they hold, how they read elsewhere, how they are compiled, that they run."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import release_check
import release_contents
import release_notes
import release_smoke
import supply
from places import LAB, ROOT

import tcuq

HERE = "https://github.com/tcuq/tcuq/blob/v1.2/"
RAW = "https://raw.githubusercontent.com/tcuq/tcuq/v1.2/"


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    pytest.importorskip(
        "setuptools", minversion="77", reason="setuptools 77 is missing: pip install setuptools"
    )
    return release_notes.product_setup()


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("[a](docs/A.md)", f"[a]({HERE}docs/A.md)"),
        ("[a](docs/A.md#b)", f"[a]({HERE}docs/A.md#b)"),
        ('[a](A.md "title")', f'[a]({HERE}A.md "title")'),
        ("[a](#use-it)", f"[a]({HERE}README.md#use-it)"),
        ("[`code`](SPEC.md)", f"[`code`]({HERE}SPEC.md)"),
        ("![p](docs/p.png)", f"![p]({RAW}docs/p.png)"),
        ("[![p](docs/p.SVG)](docs/A.md)", f"[![p]({RAW}docs/p.SVG)]({HERE}docs/A.md)"),
        ('<img alt="" src="docs/p.webp">', f'<img alt="" src="{RAW}docs/p.webp">'),
        ("<source srcset='docs/p.png'>", f"<source srcset='{RAW}docs/p.png'>"),
        ("[ref]: docs/A.md", f"[ref]: {HERE}docs/A.md"),
        ("[a](https://x.org/y)", "[a](https://x.org/y)"),
        ("[a](mailto:x@y.z)", "[a](mailto:x@y.z)"),
        ("`[a](b)`", "`[a](b)`"),
        ("```md\n[a](b)\n```\n[a](b)", f"```md\n[a](b)\n```\n[a]({HERE}b)"),
    ],
)
def test_links_lead_to_the_tag(setup: ModuleType, page: str, wanted: str) -> None:
    assert setup.absolute(page, "README.md", "1.2") == wanted


def test_links_of_the_lab_are_resolved_from_its_folder(setup: ModuleType) -> None:
    found = setup.absolute("[a](../docs/A.md) [b](tools/x.py)", "lab/README.md", "1.2")
    assert found == f"[a]({HERE}docs/A.md) [b]({HERE}lab/tools/x.py)"


@pytest.mark.parametrize("page", ["README.md", "lab/README.md"])
def test_no_relative_link_is_left(setup: ModuleType, page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    made = setup.absolute(text, page, "1.2")
    assert not release_contents.RELATIVE.findall(release_contents.CODE.sub("", made))
    for link in re.findall(rf"(?:{re.escape(HERE)}|{re.escape(RAW)})([^)#\s\"']+)", made):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize(
    ("kind", "standard"), [("unix", "-std=c99"), ("mingw32", "-std=c99"), ("msvc", "/std:c11")]
)
def test_each_compiler_gets_options_that_it_knows(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str, standard: str
) -> None:
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]
    from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

    monkeypatch.setattr(build_ext, "build_extensions", lambda self: None)
    command = setup.Build(Distribution())
    command.compiler, command.extensions = SimpleNamespace(compiler_type=kind), [Extension("x", ["x.c"])]
    command.build_extensions()
    found = command.extensions[0].extra_compile_args
    assert found[0] == standard and {word[0] for word in found} == {standard[0]}


def wheel(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def sdist(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"tcuq-1.2/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


ABOUT = (
    "Metadata-Version: 2.4\nName: tcuq\nVersion: 1.2\nRequires-Dist: numpy>=1.24\n"
    "Requires-Dist: scikit-learn; extra == 'demo'\nDescription-Content-Type: text/markdown\n\n"
    + "Text. "
    * 99
)
INFO = {f"tcuq-1.2.dist-info/{name}": "" for name in ("WHEEL", "RECORD", "entry_points.txt", "top_level.txt")}
CODE = {"tcuq/__init__.py": "", "tcuq/py.typed": "", "tcuq/core/tcuq.c": ""}
WHEEL = {
    **CODE,
    **INFO,
    "tcuq/_core.abi3.so": "",
    "tcuq-1.2.dist-info/licenses/LICENSE": "",
    "tcuq-1.2.dist-info/METADATA": ABOUT,
}
SDIST = {
    **{f"src/{name}": "" for name in (*CODE, "tcuq/binding/module.c")},
    **dict.fromkeys(release_contents.BESIDE, ""),
    "PKG-INFO": ABOUT,
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in (*CODE, "tcuq/binding/module.c", "tcuq/_core.abi3.so", "tcuq/__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path / "tcuq"


def test_archives_that_hold_what_they_must_are_let_through(source: Path) -> None:
    archives = {"tcuq-1.2-cp311-abi3-any.whl": wheel(WHEEL), "tcuq-1.2.tar.gz": sdist(SDIST)}
    assert release_contents.problems(archives, [source], "1.2") == []
    assert release_contents.problems({}, [source], "1.2") == ["tcuq: 0 wheels and 0 source archives"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tcuq/py.typed", None, "tcuq/py.typed is missing"),
        ("tcuq/core/tcuq.c", None, "tcuq/core/tcuq.c is missing"),
        ("tcuq-1.2.dist-info/licenses/LICENSE", None, "licenses/LICENSE is missing"),
        ("tests/test_x.py", "", "tests/test_x.py does not belong there"),
        ("tcuq/binding/module.c", "", "tcuq/binding/module.c does not belong there"),
        ("tcuq/_core.abi3.so", None, "0 compiled modules, expected 1"),
        ("tcuq/_core.cp310-win_amd64.pyd", "", "2 compiled modules, expected 1"),
        ("tcuq-1.2.dist-info/METADATA", ABOUT + "[a](docs/A.md)", "relative link '](docs/A.md'"),
        ("tcuq-1.2.dist-info/METADATA", ABOUT.replace("1.2\n", "1.3\n"), "names tcuq 1.3"),
        ("tcuq-1.2.dist-info/METADATA", ABOUT.replace("; extra == 'demo'", ""), "requires numpy>=1.24, sci"),
        ("tcuq-1.2.dist-info/METADATA", ABOUT[:300], "no description"),
        ("tcuq-1.2.dist-info/METADATA", None, "METADATA is missing"),
    ],
)
def test_a_wheel_that_does_not_is_refused(source: Path, name: str, text: str | None, said: str) -> None:
    files = {key: value for key, value in {**WHEEL, name: text}.items() if value is not None}
    assert any(said in line for line in release_contents.wheel_problems(wheel(files), source, "1.2"))


def test_a_source_archive_with_tests_or_without_sources_is_refused(source: Path) -> None:
    more = release_contents.sdist_problems(sdist({**SDIST, "tests/test_x.py": ""}), source, "1.2")
    assert more == ["tcuq-1.2/tests/test_x.py does not belong there"]
    less = {name: text for name, text in SDIST.items() if name != "src/tcuq/binding/module.c"}
    assert release_contents.sdist_problems(sdist(less), source, "1.2") == [
        "tcuq-1.2/src/tcuq/binding/module.c is missing"
    ]


def test_the_lab_has_the_license_of_the_project() -> None:
    assert (LAB / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_readme_has_commands_to_try() -> None:
    parts = release_smoke.readme_parts((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = [code.split()[1] for language, code, _ in parts if language == "sh"]
    assert [code.split()[:2] for _, code, model in parts if model] == [["tcuq", "start"]]
    assert {"demo", "fit", "run", "report", "export"} <= set(commands)


def test_a_command_that_fails_ends_the_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"exit status 2\n"):
        release_smoke.run("sh", "tcuq inspect missing.json", tmp_path)
    assert capsys.readouterr().out == "FAIL  tcuq inspect missing.json\n"
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    assert release_smoke.main([str(page)]) == 2 and release_smoke.main([]) == 2


def test_without_pillow_the_readers_model_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(release_check, "find_spec", lambda name: None)
    assert release_check.reader(tmp_path) == [] and not list(tmp_path.iterdir())


def test_a_reader_has_a_model_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is missing: pip install pillow")
    (name,) = release_check.reader(tmp_path)
    assert (tmp_path / name / "model.tflite").stat().st_size > 500
    assert len(list((tmp_path / name / "pictures").rglob("*.png"))) == 420


@pytest.mark.slow
def test_archives_install_and_run_without_a_compiler_and_a_network(tmp_path: Path) -> None:
    pytest.importorskip(
        "setuptools", minversion="77", reason="setuptools 77 is missing: pip install setuptools"
    )
    pytest.importorskip("sklearn", reason="scikit-learn is missing: pip install scikit-learn")
    done = release_check.check(tmp_path / "out", quick=True)
    text = "\n".join(done)
    assert f"tcuq-{tcuq.__version__}-" in text and f"tcuq_lab-{tcuq.__version__}-py3-none-any.whl" in text
    assert "installed without a compiler" in text and "tcuq demo --out demo" in text
    if not release_smoke.missing(tmp_path):
        assert "\ntcuq start model.tflite pictures" in text
    assert re.fullmatch(r"test vectors: \d{3,} passed.*", done[-1])


def build(kind: str, place: Path, target: Path) -> None:
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)], cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_tests_of_a_checkout_stay_out_of_source_archives(tmp_path: Path, setup: ModuleType) -> None:
    supply.copied(tmp_path / "checkout")
    for folder in supply.PACKAGES.values():
        tests = tmp_path / "checkout" / folder / "tests"
        tests.mkdir()
        (tests / "test_here.py").touch()
        build("sdist", tests.parent, tmp_path / "dist")
    found = {path.name: path.read_bytes() for path in (tmp_path / "dist").iterdir()}
    for source in release_check.FOLDERS:
        name = f"{source.name}-{tcuq.__version__}.tar.gz"
        assert release_contents.sdist_problems(found[name], source, tcuq.__version__) == []


@pytest.mark.slow
def test_the_lab_builds_from_its_source_archive_alone(tmp_path: Path, setup: ModuleType) -> None:
    place, dist = tmp_path / "checkout", tmp_path / "dist"
    supply.copied(place)
    build("sdist", place / "lab", dist)
    build("wheel", place / "lab", dist)
    assert sorted(path.suffix for path in dist.iterdir()) == [".gz", ".whl"]
    shutil.rmtree(place)
    (tmp_path / "sources").mkdir()
    assert release_check.rebuilt(dist, tmp_path / "sources") == []
