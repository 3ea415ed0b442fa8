"""Kinds of measurement beside the comparison, each against a computation of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, TINY, Kept

from tcuq_lab.comparison import pick
from tcuq_lab.comparison.records import Record, Results
from tcuq_lab.methods.gather import observed
from tcuq_lab.methods.paper import TcuqPaper, TcuqTs
from tcuq_lab.reproduce.kinds import comparison, literal, severity
from tcuq_lab.reproduce.kinds.comparison import joined
from tcuq_lab.reproduce.kinds.fits import fit_once
from tcuq_lab.reproduce.kinds.schedule import Schedule
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import PaperExperiment, experiment_from
from tcuq_lab.reproduce.rows import row_of
from tcuq_lab.reproduce.table import table, text
from tcuq_lab.streams import Stream

UNIT = Unit("cifar10", 16.0, 0)
GRADED = {"1": "clean", "3": "spatter/3", "5": "speckle_noise/3"}
OWN = "own/smoothed/unseen"


class Graded(Kept):
    """Recordings of the repository again; at severity 1 a corruption changes nothing."""

    setting = replace(TINY, severities=(1, 3, 5), kinds=2)

    def banks(self, task: str, part: str, seed: int, rows: Any, sources: Any) -> dict[str, Any]:
        found = {source: self.bank[GRADED.get(source.partition("/")[2], "clean")] for source in sources}
        found |= {source: self.bank["gaussian_blur/3"] for source in sources if source.startswith("ood/")}
        return {row.label: found for row in rows}


def plan(kind: str, **changes: Any) -> PaperExperiment:
    return experiment_from({**PLAIN, "kind": kind, **changes}, {})


def average_precision(score: np.ndarray, positive: np.ndarray) -> float:
    """Return the mean, over positives, of the precision at their score; ties count whole."""
    return float(np.mean([positive[score >= each].mean() for each in score[positive]]))


def rolled(values: np.ndarray) -> np.ndarray:
    """Return the mean of every 100 steps in a row."""
    return np.array([values[at : at + 100].mean() for at in range(len(values) - 99)])


def drops(schedule: Schedule, stream: Stream, bank: Any, risk: np.ndarray) -> tuple[float, float]:
    """Return AUPRC and share of drop events of the network's own answers, from their definition."""
    clean = schedule.clean("dev")
    accuracy = rolled(bank["clean"].probs[clean.index].argmax(1) == clean.label)
    right = observed(stream, bank).probs.argmax(1) == stream.label
    event = rolled(right) <= accuracy.mean() - 3 * accuracy.std() + 1e-12
    return average_precision(rolled(risk).round(12), event) if event.any() else np.nan, event.mean()


def prepared(kept: Kept, experiment: PaperExperiment) -> tuple[Schedule, Any]:
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    return schedule, UNIT.banks(experiment.rows, kept, schedule)[1]["base"]  # type: ignore[arg-type]


def value(records: list[Record], **wanted: str) -> float:
    (row,) = pick(records, **wanted)
    return float(row["value"])


def test_severity_is_measured_one_at_a_time(tmp_path: Path) -> None:
    columns = [[metric, f"own/smoothed/severity {n}", f"{metric} {n}"]
               for metric in ("drop_auprc", "drop_share") for n in range(1, 6)]  # fmt: skip
    experiment = plan("severity", rows=["base", "mean_posterior"], columns=columns)
    kept = Graded(tmp_path)
    found = severity.measure(experiment, UNIT, kept)  # type: ignore[arg-type]
    schedule, bank = prepared(kept, experiment)
    streams = schedule.severe_tests()
    assert list(streams) == [1, 3, 5]
    for level, kinds in streams.items():
        assert list(kinds) == list(schedule.unseen) and len(kinds) == 2
        for kind, stream in kinds.items():
            assert {span.source for span in stream.spans()} == {"clean", f"{kind}/{level}"}
            np.testing.assert_array_equal(stream.index, streams[1][kind].index)
            risk = 1 - observed(stream, bank).probs.max(1).astype(np.float64)
            area, share = drops(schedule, stream, bank, risk)
            about = {"stream": kind, "method": "base", "variant": f"own/smoothed/severity {level}"}
            assert value(found, metric="drop_auprc", **about) == pytest.approx(area, abs=1e-6, nan_ok=True)
            assert value(found, metric="drop_share", **about) == pytest.approx(share)
            assert np.isnan(area) == (level == 1) == (share == 0)
    lines = table(experiment, {"a": Results(found, {"task": "cifar10", "dwell": 16})})
    titles = [f"{metric} {n}" for metric in ("drop_auprc", "drop_share") for n in (1, 3, 5)]
    assert [line["column"] for line in lines if line["row"] == "base"] == titles
    assert [line["n"] for line in lines if line["row"] == "base"] == [0, 2, 2, 2, 2, 2]
    assert [line["column"] for line in lines if line["row"] == "mean_posterior"] == titles[:3]
    assert "| base | - | 0." in text(lines)


def test_the_literal_stream_shows_the_same_examples_and_rewards_a_clock(tmp_path: Path) -> None:
    experiment = plan("literal", rows=["base", "mean_posterior"])
    kept = Graded(tmp_path)
    found = literal.measure(experiment, UNIT, kept)  # type: ignore[arg-type]
    schedule, bank = prepared(kept, experiment)
    both = {"literal": schedule.rising_tests(), "segments": schedule.unseen_tests()}
    for name, streams in both.items():
        for kind, stream in streams.items():
            np.testing.assert_array_equal(stream.label, kept.labels[stream.index])
            scores = {"base": 1 - observed(stream, bank).probs.max(1).astype(np.float64)}
            scores["clock"] = np.arange(len(stream)).astype(np.float64)
            for method, risk in scores.items():
                area, share = drops(schedule, stream, bank, risk)
                about = {"stream": kind, "variant": f"own/smoothed/{name}"}
                assert value(found, method=method, metric="drop_auprc", **about) == pytest.approx(
                    area, abs=1e-6
                )
                assert value(found, method="base", metric="drop_share", **about) == pytest.approx(share)
    for kind, stream in both["literal"].items():
        assert [tuple(span) for span in stream.spans()] == [
            (0, 600, "clean"),
            (600, 800, f"{kind}/1"),
            (800, 1000, f"{kind}/3"),
            (1000, 1200, f"{kind}/5"),
        ]
        np.testing.assert_array_equal(stream.shift > 0, np.arange(1200) >= 600)
        np.testing.assert_array_equal(stream.index, both["segments"][kind].index)
        about = {"stream": kind, "method": "clock", "metric": "drop_auprc"}
        assert value(found, variant="own/smoothed/literal", **about) > 0.9
        assert value(found, variant="own/smoothed/segments", **about) < 0.8


@pytest.mark.slow
def test_a_fit_that_was_kept_is_the_same_fit(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    bank = kept.banks(UNIT.task, "dev", 0, [row_of("base")], schedule.sources("dev"))["base"]
    dev, seen = joined(schedule.learned(), bank), observed(schedule.clean("test"), bank)
    place = tmp_path / "deep" / "fit.json"
    first, again = TcuqPaper(), TcuqPaper()
    fit_once(first, dev, place)
    fit_once(again, dev, place)
    assert again.params == first.params and again.setting == first.setting
    assert again.held_out == first.held_out
    for one, other in zip(first.answer(seen), again.answer(seen), strict=True):
        np.testing.assert_array_equal(one, other)
    scaled = TcuqTs()  # its temperature is not among the parameters
    fit_once(scaled, dev, tmp_path / "scaled.json")
    assert scaled.temperature != 1 and not (tmp_path / "scaled.json").exists()
    with pytest.raises(ValueError, match="tcuq_paper_ts fits more than parameters; fit is needed"):
        TcuqTs().resume(dev, first.held_out, first.params)
    with pytest.raises(ValueError, match="held_out has 1 entries, expected 8"):
        TcuqPaper().resume(dev, [0.5], first.params)
    whole = place.read_text()
    for damaged in ("{", "[]", whole.replace("tcuq fit 1", "x"), whole.replace("held_out", "h"),
                    whole.replace('"classes": 10', '"classes": 1')):  # fmt: skip
        place.write_text(damaged)
        with pytest.raises(ValueError, match=r"fit\.json is not a fit that was kept: ") as caught:
            fit_once(TcuqPaper(), dev, place)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.slow
def test_the_product_is_paired_with_the_first_row_on_unseen_kinds_alone(tmp_path: Path) -> None:
    rows = ["base", "tcuq_paper", {"method": "tcuq_standard", "label": "tcuq"}]
    kept = Graded(tmp_path)
    kept.setting = replace(Graded.setting, replicates=100)
    found = comparison.measure(plan("comparison", rows=rows), UNIT, kept)  # type: ignore[arg-type]
    gains = pick(found, metric="drop_auprc_gain")
    schedule, bank = prepared(kept, plan("comparison", rows=rows))
    assert [row["stream"] for row in gains] == list(schedule.unseen)
    for row in gains:
        about = {"stream": row["stream"], "metric": "drop_auprc", "variant": OWN}
        wanted = value(found, method="tcuq", **about) - value(found, method="base", **about)
        assert row["method"] == "tcuq - base" and row["value"] == pytest.approx(wanted)
        assert row["low"] <= row["value"] <= row["high"]
        stream = schedule.tests()[row["stream"]]
        share = drops(schedule, stream, bank, np.zeros(len(stream)))[1]
        got = value(found, stream=row["stream"], method="tcuq", metric="drop_share", variant=OWN)
        assert got == pytest.approx(share)
