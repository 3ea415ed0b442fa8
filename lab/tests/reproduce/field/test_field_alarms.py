"""The experiment `alarms`: the monitor's sums as the core has them, and a whole network on made data."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tcuq import Log, Params, fit
from tcuq_lab.detection.switches import capped
from tcuq_lab.methods.confidence_norm import ConfidenceNorm
from tcuq_lab.methods.method import Recorded
from tcuq_lab.reproduce.field import alarms
from tcuq_lab.reproduce.field.alarming.counting import Scene
from tcuq_lab.reproduce.field.alarming.figures import clean_figures, shift_figures
from tcuq_lab.reproduce.field.alarming.ours import OURS, fitted_limit, said
from tcuq_lab.reproduce.field.alarming.rivals import RIVALS
from tcuq_lab.reproduce.field.alarming.seen import scorer_of, seen_of
from tcuq_lab.reproduce.field.intervals import interval
from tcuq_lab.reproduce.field.plan import StreamSizes, UnitPlan
from tcuq_lab.reproduce.field.run import Key, combined
from tcuq_lab.reproduce.field.units import Unit
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.rows import row_of
from tcuq_lab.reproduce.run_size import RunSize

CLASSES = 10


def spoken(labels: np.ndarray, hurt: float, seed: int) -> Recorded:
    """What a made network says to examples, the worse the more its input hurts."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(labels), CLASSES)) + (4 - 3 * hurt) * np.eye(CLASSES)[labels]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    features = np.eye(CLASSES)[labels] + rng.normal(0, 0.3 + 0.3 * hurt, (len(labels), CLASSES))
    return Recorded(probs.astype(np.float32), features.astype(np.float32))


def made_log(seed: int, pieces: int = 3) -> Log:
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, 150 * pieces), 8)
    shifted = np.tile(np.repeat([0, 1, 0, 2], 300), pieces)
    clean, bad = (spoken(labels, hurt, seed + 1) for hurt in (0.0, 1.0))
    probs = np.where(shifted[:, None] > 0, bad.probs, clean.probs)
    assert clean.features is not None and bad.features is not None
    features = np.where(shifted[:, None] > 0, bad.features, clean.features)
    return Log(probs, features, labels, np.repeat(np.arange(pieces), 1200), shifted)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"about": "prediction"}, id="evidence"),
        pytest.param({"about": "answer"}, id="answer"),
        pytest.param({"about": "prediction", "alarm": "proved"}, id="proved"),
        pytest.param({"profile": "extended", "evidence": "auto"}, id="extended"),
    ],
)
def test_sums_are_those_of_the_core_at_any_limit(options: dict[str, Any]) -> None:
    params: Params = fit(made_log(0), run_length=500, explain=False, **options)
    fresh = made_log(7)
    found = said(params, fresh)
    assert found.added is not None
    np.testing.assert_array_equal(capped(found.added, np.array([fitted_limit(params)]))[0], found.on)
    assert found.on.any() and not found.on.all()
    side = params.alarm.rise
    assert side is not None
    for factor in (0.4, 2.0):
        other = params.replace(
            alarm=replace(params.alarm, rise=replace(side, limit=factor * side.limit, cap=None))
        )
        limit = np.array([fitted_limit(other)])
        np.testing.assert_array_equal(capped(found.added, limit)[0], said(other, fresh).on)


def test_figures_of_a_small_alarm() -> None:
    sources = np.zeros((2, 400), dtype=np.int64)
    sources[0, 200:300] = 1
    sources[1, 200:300] = 2
    on = np.zeros((2, 400), dtype=bool)
    on[0, 210:304] = True
    on[1, 20:30] = True
    scene = Scene(sources, ("clean", "fog/5", "fog/1"))
    still = clean_figures(on, scene, "x")
    assert still["clean on"].value == pytest.approx(14 / 600)
    assert still["false per 10,000"].value == pytest.approx(10_000 / 500)
    rate = interval(still["false per 10,000"])
    assert rate.low < 1 and rate.high > 100  # of a single event in 500 steps: 0.5 to 111
    moved = shift_figures(on, scene, ["fog/5"], "x")
    assert {name: each.value for name, each in moved.items()} == {
        "found": 1.0,
        "already on": 0.0,
        "delay": 10.0,
        "clears": 4.0,
        "costly on": 0.9,
        "shifted on": 0.45,
    }


@dataclass
class MadeRecordings(Recordings):
    """Recordings of a made network, which no file holds."""

    def __init__(self, folder: Path) -> None:
        setting = RunSize("made", 200, 200, 1000, 1000, (0,), (5,), corrupted_once=True)
        super().__init__("no weights", str(folder), setting)
        self.calls: list[str] = []

    def part(self, task: str, part: str) -> Any:
        return SimpleNamespace(y=np.arange(200) % CLASSES)

    def has(self, task: str, seed: int, row: Any) -> bool:
        return bool(row.method.recipe == "plain" and row.method.members == 1)

    def place(self, task: str, part: str, seed: int, row: Any) -> Path:
        return self.folder / part

    def banks(self, task: str, part: str, seed: int, rows: Any, sources: Any) -> Any:
        y = self.part(task, part).y
        hurts = {name: 0.0 if name == "clean" else 1.0 for name in sources}
        return {rows[0].label: {name: spoken(y, hurts[name], at) for at, name in enumerate(sources)}}


def test_a_network_gives_every_row_on_every_stream(tmp_path: Path) -> None:
    sizes = StreamSizes(stretch=600, dev=3, clean_dev=2, law_dev=3, test=3, clean_test=2)
    unit = Unit(UnitPlan("mnist", 0, sizes, (5,)), MadeRecordings(tmp_path))
    sums = ("CUSUM", "CUSUM, confidence and norm", "CUSUM, deep")
    kept = [replace(each, settings=each.settings[:2]) for each in RIVALS if each.name in sums]
    found = alarms.measure(unit, ("class 4",), kept)
    assert {key.row for key in found.figures} == {*OURS, *sums[:2]}  # there are no networks of `deep`
    assert {key.stream for key in found.figures} == {"clean", "class 4"}
    for row in (*OURS, *sums[:2]):
        for fit_ in ("told", "untold"):
            assert 0 <= found.figures[Key("class 4", row, fit_, "found")].value <= 1
        assert Key("class 4", row, "untold", "delay (equal)") in found.figures
        assert Key("clean", row, "untold", "false per 10,000") in found.figures
    equal = found.figures[Key("class 4", "CUSUM", "untold", "false per 10,000 (equal)")]
    assert equal.value <= 5
    assert found.figures[Key("class 4", "tcuq", "untold", "found")].value == 1
    assert len(found.choices["untold"]["CUSUM"]["tried"]) == 2
    assert found.choices["test"]["costly shifts"]["class 4"] > 0
    assert found.choices["test"][alarms.NOT_EQUAL] == {}


def test_a_score_that_learns_is_fitted_to_the_development_stream_alone(tmp_path: Path) -> None:
    sizes = StreamSizes(stretch=400, dev=2, clean_dev=1, law_dev=2, test=2, clean_test=1)
    unit, row = Unit(UnitPlan("mnist", 0, sizes, (5,)), MadeRecordings(tmp_path)), row_of("confidence_norm")
    expected = ConfidenceNorm()
    expected.fit(unit.labeled("dev", row))
    found = seen_of(unit, "test class 4", row, scorer_of(unit, "dev", row))
    score = expected.answer(unit.observed("test class 4", row)).score
    np.testing.assert_array_equal(found.score.ravel(), score)
    other = seen_of(unit, "test class 4", row, scorer_of(unit, "law class 4", row))
    assert not np.array_equal(found.score, other.score)
    plain = seen_of(unit, "test class 4", row_of("base"), scorer_of(unit, "dev", row_of("base")))
    np.testing.assert_array_equal(plain.score, 1 - plain.probs.max(axis=2).astype(np.float64))


def test_a_row_that_cannot_reach_the_equal_rate_is_marked(tmp_path: Path) -> None:
    sizes = StreamSizes(stretch=4000, dev=1, clean_dev=1, law_dev=1, test=3, clean_test=1)
    tables = alarms._Tables(Unit(UnitPlan("mnist", 0, sizes, (5,)), MadeRecordings(tmp_path)))
    settled = tables.scene("test class 4").settled
    silent = lambda limits: np.zeros((len(limits), *settled.shape), dtype=bool)  # noqa: E731
    tables.add_equal("class 4", "silent", "untold", silent, np.array([1.0]))
    asked = int(settled.sum() / 2000)
    assert asked >= 1
    assert tables.off == {"class 4": {"silent": {"false alarms": 0, "asked for": asked}}}


def test_the_run_length_is_that_of_all_networks_together() -> None:
    sources = np.zeros((2, 2000), dtype=np.int64)
    networks = []
    for number, count in enumerate((0, 1, 8)):
        on = np.zeros((2, 2000), dtype=bool)
        on[0, 100 : 100 + 200 * count : 200] = True
        found = clean_figures(on, Scene(sources, ("clean",)), f"made {number}")
        networks.append({Key("clean", "tcuq", "untold", column): each for column, each in found.items()})
    lines = {each.column: each for each in combined("mnist", networks, (), alarms.SPEC.inverses)}
    rate, ratio = lines["false per 10,000"], lines["run length ratio"]
    assert rate.value == pytest.approx(10_000 * 9 / 12_000)
    assert ratio.value == pytest.approx((12_000 / 2000) / 9)  # six asked for, nine came
    assert ratio.low == pytest.approx(5 / rate.high)
    assert ratio.high == (pytest.approx(5 / rate.low) if rate.low else np.inf)
    none = combined("mnist", networks[:1], (), alarms.SPEC.inverses)
    assert [each.value for each in none if each.column == "run length ratio"] == [np.inf]


def test_the_result_file_says_how_columns_are_to_be_read() -> None:
    text = " ".join(alarms.SPEC.notes)
    for words in ("intervals take it as given", alarms.NOT_EQUAL, "250 times", "100 times", "every 5 steps"):
        assert words in text


def test_every_row_is_compared_with_ours() -> None:
    rows = {each.second for each in alarms.SPEC.comparisons}
    assert rows == {*OURS, *(each.name for each in RIVALS)} - {"tcuq"}
