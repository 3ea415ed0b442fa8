"""Findings of a fit as sentences: each code has one, spelled for its reader; older files hold sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import dwell_stream

import tcuq.fitting
from tcuq import Log, Params, fit
from tcuq.cli import build_parser
from tcuq.cli.words import spoken
from tcuq.fitting.words import SENTENCES, in_words, notes_of, said


def test_no_sentence_is_left_over() -> None:
    files = [file for file in Path(tcuq.fitting.__file__).parent.rglob("*.py") if file.name != "words.py"]
    stages = "".join(file.read_text() for file in files)
    assert [code for code in SENTENCES if f'"{code}"' not in stages] == []


@pytest.mark.parametrize(
    ("finding", "python", "shell"),
    [
        ({"code": "level_below_budget", "level": 0.1, "budget": 0.3}, '`level="budget"`', "--level budget"),
        ({"code": "nothing_marked"}, "mark them with `shifted`, or pass a clean log with `clean`", "--clean"),
        (
            {"code": "features_harm", "signal": "distance", "loss": 0.01},
            "`use_features=False`",
            "--posterior",
        ),
        (
            {"code": "error_out_of_reach", "max_error": 0.01, "share": 0.02, "wrong": 0.5},
            "`max_error=0.01` is out of reach: even of the surest 2% of the log's answers 50.0% are wrong",
            "--max-error 0.01 is",
        ),
    ],
)
def test_options_are_spelled_for_the_reader(finding: dict[str, Any], python: str, shell: str) -> None:
    assert python in said(finding)
    with spoken(build_parser("fit").parse_args(["fit", "dev.csv", "-o", "monitor.json"])):
        assert shell in said(finding) and "`shifted`" in said({"code": "nothing_marked"})
    assert python in said(finding)


def test_a_finding_of_a_newer_version_is_shown_with_its_values() -> None:
    assert said({"code": "unheard_of", "steps": 3}) == "{'code': 'unheard_of', 'steps': 3}"


def test_notes_of_an_older_fit_are_shown_as_they_are() -> None:
    probs, features, truth, marks = dwell_stream(1500, 5, 4, np.random.default_rng(0), shifted=True)
    params = fit(Log(probs, features, truth, shifted=marks))
    bare = fit(Log(probs, features, shifted=marks), alarm="proved")
    for each in (params, bare):
        content = json.loads(each.to_json())
        found = content["notes"]["fit"]
        text = in_words(each, details=True)
        found["warnings"] = notes_of(each)
        if "time" in found:
            found["time"] = next(line for line in text.splitlines() if "held-out AUROC of errors" in line)
        if "why" in found.get("evidence", {}):
            found["evidence"]["why"] = said(found["evidence"]["why"])
        old = Params.from_dict(content, sealed=False)
        assert in_words(old, details=True) == text and notes_of(old) == notes_of(each) and notes_of(old)
