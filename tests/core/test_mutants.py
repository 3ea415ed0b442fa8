# SPDX-License-Identifier: MIT
"""Mutants of the core: places, verdicts, and a sample that the tests must notice."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import places, report
from mutants.builds import CORE, builds
from mutants.judge import EQUAL, INVALID, KILLED, SURVIVED, Judge, Verdict
from mutants.run import choose, judge_all, main
from mutants.tokens import tokenize

EVERY = places.mutants(CORE)


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.old, mutant.new) for mutant in places.mutants_of("x.c", source)}


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is missing: install the Debian package gcc")
    folder = tmp_path_factory.mktemp("mutants")
    return Judge(compiler, builds()[:1], folder, flips=False, sanitizers=False)


def found(file: str, context: str, old: str, new: str) -> places.Mutant:
    """Return the first mutant of a line that changes `old` to `new`."""
    return next(
        mutant
        for mutant in EVERY
        if (mutant.file, mutant.old, mutant.new) == (file, old, new) and context in mutant.context
    )


def test_every_mutant_changes_one_place_and_has_its_own_name() -> None:
    assert len({mutant.name for mutant in EVERY}) == len(EVERY) > 2500
    assert {mutant.file for mutant in EVERY} == set(places.SOURCES)
    for mutant in EVERY[::50]:
        source = (CORE / mutant.file).read_text()
        changed = mutant.apply(source)
        assert changed != source and len(changed) == len(source) + len(mutant.new) - len(mutant.old)


def test_operators_of_mutation() -> None:
    source = (
        "int f(int a, uint32_t *b)\n{\n    int c = -a;\n    *b = (uint32_t)(a * 3) << 1;\n    return c;\n}\n"
    )
    assert changes(source) == {
        ("-", ""),
        ("*", "+"),
        ("3", "4"),
        ("3", "2"),
        ("<<", ">>"),
        ("1", "2"),
        ("1", "0"),
        ("(uint32_t)", ""),
        ("*b = (uint32_t)(a * 3) << 1;", ";"),
        ("return c;", "return 0;"),
    }
    looped = changes("void f(int a)\n{\n    for (; a > 0; a--) {\n        if (g(a)) { break; }\n    }\n}\n")
    assert looped >= {(">", ">="), (">", "<="), ("--", "++"), ("g(a)", "!(g(a))"), ("break;", ";")}
    assert ("a > 0;", ";") not in looped
    assert changes("int f(int a)\n{\n    return a ? 2 : 3;\n}\n") >= {("? 2 : 3", "? (3) : (2)")}


def test_comments_texts_and_directives_are_no_places() -> None:
    source = '/* a < b */\n#include "x.h"\n#if A > 1\n#define B(c) ((c) << 4)\n#endif\nchar *d = "a + 1";\n'
    assert changes(source) == {("<<", ">>"), ("4", "5"), ("4", "3")}
    with pytest.raises(ValueError, match="line 2 has '@', expected C"):
        tokenize("int a;\n@")


def test_a_sample_is_the_same_every_time() -> None:
    assert choose(EVERY, 40, 1) == choose(EVERY, 40, 1) != choose(EVERY, 40, 2)
    assert choose(EVERY, 0, 1) == EVERY


@pytest.mark.slow
def test_verdicts(judge: Judge, tmp_path: Path) -> None:
    loop = found("tcuq_signals.c", "for (i = 0; i < classes; i++) {", "++", "--")
    same = found("tcuq_state.c", "m->head = 0;", "0", "1")
    none = places.Mutant("tcuq.c", 0, 2, "/*", "*/", "", 1, 1, "")
    swapped = found("tcuq.c", "out->flagged = out->risk >=", ">=", ">")
    unsigned = found("tcuq_internal.h", "return (uint32_t)p->signals &", "(uint32_t)", "")
    assert judge.judge(swapped, tmp_path).by == "vectors"
    assert judge.judge(loop, tmp_path).status == KILLED  # it has no end, or leaves its memory
    assert judge.judge(none, tmp_path).status == INVALID
    assert judge.judge(unsigned, tmp_path).status == EQUAL
    assert judge.judge(same, tmp_path).status in (KILLED, SURVIVED)
    again = found("tcuq_fields.h", "NUMBER(burst", "10000", "10001")
    assert judge.judge(again, tmp_path) == Verdict(KILLED, "limits", "default")


def test_a_sample_is_noticed(judge: Judge, tmp_path: Path) -> None:
    verdicts = judge_all(judge.judge, choose(EVERY, 20, 3), tmp_path, 1)
    killed = sum(verdict.status == KILLED for verdict in verdicts)
    survived = sum(verdict.status == SURVIVED for verdict in verdicts)
    assert killed >= 15 and survived <= 3, verdicts


def test_what_is_explained_is_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = EVERY[:4]
    verdicts = [Verdict(KILLED, "vectors"), Verdict(SURVIVED), Verdict(EQUAL), Verdict(INVALID)]
    assert report.write(list(zip(some, verdicts, strict=True)), tmp_path) == 50.0
    said = capsys.readouterr().out
    assert "killed 1 of 2: 50.0 %" in said and "without the 0 that survivors.md explains" in said
    assert report.names_in(tmp_path / "mutants.json") == {some[1].name}
    assert some[1].name in (tmp_path / "mutants.txt").read_text()


def test_explanations_are_of_mutants_that_exist() -> None:
    known = {report.key(mutant) for mutant in EVERY}
    assert report.explained() <= known


def test_the_list_of_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--file", "tcuq_internal.h", "--sample", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(line.startswith("tcuq_internal.h:") for line in lines)


@pytest.mark.slow
def test_a_large_sample_is_noticed(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is missing: install the Debian package gcc")
    asked = ["--sample", "120", "--seed", "5", "--no-flips", "--floor", "93", "--out", str(tmp_path)]
    assert main(asked) == 0, (tmp_path / "mutants.txt").read_text()


def test_packages_want_a_folder(tmp_path: Path) -> None:
    script = CORE.parents[2] / "tools" / "mutants" / "packages.py"
    for asked, status, said in (("--help", 0, "usage:"), ("--nothing", 2, "usage:")):
        done = subprocess.run(
            [sys.executable, script, asked], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == status and said in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
