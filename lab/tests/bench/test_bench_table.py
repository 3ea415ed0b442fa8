"""Result files and the leaderboard that is made of them alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT
from small_benchmark import made_benchmark

from tcuq_lab.benchmark.entries import entry_of
from tcuq_lab.benchmark.files import LIST, Benchmark, load
from tcuq_lab.benchmark.results import (
    beside,
    leaderboard,
    load_result,
    load_results,
    placed,
    ranked,
    result_text,
    stored,
)
from tcuq_lab.experiments.benchmark import run

COMMITTED = ROOT / "lab" / "benchmark"
REPLICATES = 200


def made_result(folder: Path, name: str, value: float, spread: float = 0.0, /, **more: Any) -> Path:
    draws = value + spread * np.random.default_rng(len(name)).normal(size=REPLICATES)
    figures = {stream: {"relative errors": [value, None, None]} for stream in ("class 1", "all streams")}
    figures["class 1"]["delay"] = ["inf", None, None]
    content = {
        "format": "tcuq bench 3",
        "name": name,
        "track": "without labels",
        "state_bytes": None,
        "streams": "abc",
        "command": f"tcuq-lab bench {name}",
        "headline": {"value": value, "low": float(draws.min()), "high": float(draws.max())},
        "headline_draws": draws.tolist(),
        "found_draws": [],
        "figures": {"east": figures},
        **more,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def ranks(paths: list[Path]) -> list[tuple[int, str]]:
    return [(place.rank, place.result.name) for place in ranked(load_results(paths))]


def test_ranks_are_shared_where_intervals_cannot_tell_methods_apart(tmp_path: Path) -> None:
    paths = [made_result(tmp_path, name, value) for name, value in (("b", 0.9), ("c", 0.5), ("a", 1.2))]
    assert ranks(paths) == ranks(paths[::-1]) == [(1, "c"), (2, "b"), (3, "a")]
    spread = (("one", 0.50, 0.0), ("three", 0.52, 0.1), ("four", 0.90, 0.0))
    assert ranks([made_result(tmp_path, *each) for each in spread]) == [(1, "one"), (1, "three"), (3, "four")]
    same = np.random.default_rng(0).normal(size=REPLICATES) * 0.2  # paired: both rise and fall together
    paths = [
        made_result(tmp_path, name, value, headline_draws=(value + same).tolist())
        for name, value in (("near", 0.51), ("best", 0.50))
    ]
    assert ranks(paths) == [(1, "best"), (2, "near")]


def test_results_beside_others_have_the_same_streams_and_other_names(tmp_path: Path) -> None:
    (tmp_path / "stored").mkdir()
    for name in ("vote", "mine"):
        made_result(tmp_path / "stored", name, 0.5)
    made_result(tmp_path / "stored", "far", 0.5, streams="xyz")  # as while results are made again
    made_result(tmp_path / "stored", "short", 0.5, headline_draws=[0.5])
    others = stored(tmp_path / "stored", "abc")
    assert [each.name for each in others] == ["mine", "short", "vote"]
    mine = load_result(made_result(tmp_path, "mine", 0.4))
    assert [each.name for each in beside([mine], others)] == ["vote"]
    assert [each.name for each in beside([], others)] == ["mine", "short", "vote"]
    assert stored(tmp_path / "nowhere", "abc") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"streams": "xyz"}, "made with the streams xyz, expected abc: run 'tcuq-lab bench odd' again"),
        ({"format": "tcuq bench 0"}, "expected the format 'tcuq bench 3'"),
        ({"track": "cheating"}, "track is 'cheating', expected one of"),
        ({"headline": {"value": 0.6}}, "lacks low, expected a file of 'tcuq-lab bench --out'"),
        (
            {"headline": {"value": 0.1, "low": 0.1, "high": 0.1}},
            "headline is 0.1, expected the mean of its 1",
        ),
        ({"name": "a|b"}, "name is .*, expected a text without"),
        ({"state_bytes": "few"}, "state_bytes is 'few', expected an integer"),
        ({"headline_draws": [1.0]}, "has 1 draws, expected 200"),
        ({"name": "good"}, "is about 'good', as is .*give one of them another name"),
    ],
)
def test_result_files_that_do_not_belong_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    good, odd = made_result(tmp_path, "good", 0.5), made_result(tmp_path, "odd", 0.6, **change)
    with pytest.raises(ValueError, match=message):
        load_results([good, odd])


def test_a_result_file_says_what_was_run(tmp_path: Path) -> None:
    benchmark: Benchmark = made_benchmark(tmp_path)

    class Method:
        name = "norm"
        uses_labels = True
        state_bytes = 3

        def fit(self, dev: Any) -> None:
            assert dev.labels is not None

        def watch(self, stream: Any) -> Any:
            return {"risk": stream.features.sum(axis=1), "alarm": stream.features[:, 0] > 60}

    outcome = run(entry_of(Method, "norm.py", "f" * 64, "norm.py"), benchmark)
    path = tmp_path / "norm.json"
    path.write_text(result_text(outcome, benchmark.digest, "tcuq-lab bench norm.py"))
    back = load_result(path)
    assert (back.name, back.track, back.state_bytes) == ("norm", "with labels", 3)
    assert back.streams == benchmark.digest and back.content["method"]["sha256"] == "f" * 64
    of = [each for each in outcome.lines if each.column == "relative errors"]
    cells = [each.value for each in of if each.stream == "all streams"]
    assert (
        len(of) == 6 and len(cells) == 2 and back.headline.estimate == pytest.approx(np.mean(cells), abs=1e-6)
    )
    assert back.headline.low < back.headline.estimate < back.headline.high
    assert len(back.draws) == len(back.soon) == 500 and np.isfinite(back.draws).all()
    for line in outcome.lines:
        again = back.found.get(line.task, line.stream, line.row, "", line.column)
        if again is None:
            assert np.isnan(line.value)
        else:
            assert again.value == pytest.approx(line.value, rel=1e-3)


def test_the_page_shows_the_committed_results() -> None:
    page = (ROOT / "docs" / "BENCHMARK.md").read_text(encoding="utf-8")
    results = load_results(sorted((COMMITTED / "results").glob("*.json")))
    assert placed(page, leaderboard(results)) == page
    assert len(page.splitlines()) < 240
    if results:
        assert (COMMITTED / LIST).exists() and {each.streams for each in results} == {load(COMMITTED).digest}
