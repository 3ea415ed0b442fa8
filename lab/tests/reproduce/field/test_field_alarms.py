"""The experiment `alarms`: the monitor's sums as the core has them, and a whole network on made data."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mixed
import numpy as np
import pytest

from tcuq import FitOptions, Log, Params, fit
from tcuq.monitor.alarm import AlarmSide
from tcuq_lab.methods.method import Recorded
from tcuq_lab.reproduce.field import alarms
from tcuq_lab.reproduce.field.alarming.counting import Scene, scene_of
from tcuq_lab.reproduce.field.alarming.figures import clean_figures, shift_figures
from tcuq_lab.reproduce.field.alarming.ours import OURS, fitted_limit, said, summed
from tcuq_lab.reproduce.field.alarming.rivals import RIVALS
from tcuq_lab.reproduce.field.experiment import Key
from tcuq_lab.reproduce.field.intervals import interval
from tcuq_lab.reproduce.field.plan import StreamSizes, UnitPlan
from tcuq_lab.reproduce.field.units import Unit
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import RunSize
from tcuq_lab.streams import Description, build

CLASSES = 10
UNHURT = ("clean", "attenuated/1", "fog/1", "snow/1", "jpeg_compression/1", "gaussian_noise/1")


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
    ],
)
def test_sums_are_those_of_the_core_at_any_limit(options: dict[str, Any]) -> None:
    params: Params = fit(made_log(0), run_length=500, options=FitOptions(explain=False), **options)
    fresh = made_log(7)
    assert fresh.features is not None and params.evidence is not None and params.evidence.frozen > 0
    for piece in fresh.pieces():  # the input stands still for a while, which the core knows
        stuck = slice(piece.start + 100, piece.start + 200)
        fresh.probs[stuck], fresh.features[stuck] = fresh.probs[stuck.start], fresh.features[stuck.start]
    found = said(params, fresh)
    assert found.added is not None
    np.testing.assert_array_equal(summed(params, found.added)(np.array([fitted_limit(params)]))[0], found.on)
    assert found.on.any() and not found.on.all()
    side = params.alarm.rise
    assert side is not None
    for factor in (0.4, 2.0):
        other = params.replace(
            alarm=replace(
                params.alarm,
                rise=AlarmSide(
                    0.0, factor * side.limit, clear=max(0.0, factor * side.limit - side.limit + side.clear)
                ),
            )
        )
        limit = np.array([fitted_limit(other)])
        np.testing.assert_array_equal(summed(params, found.added)(limit)[0], said(other, fresh).on)


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
        "benign on": 0.0,
    }


def test_a_shift_that_sets_in_slowly_is_what_it_comes_to() -> None:
    sources = np.zeros((1, 400), dtype=np.int64)
    sources[0, 100:130], sources[0, 130:200] = 1, 2  # reaches fog/5
    sources[0, 300:350] = 1  # stays at fog/1
    on = np.zeros((1, 400), dtype=bool)
    on[0, 120:200] = on[0, 340:350] = True
    scene = Scene(sources, ("clean", "fog/1", "fog/5"))
    assert [each[3] for each in scene.shifts] == ["fog/5", "fog/1"]
    found = shift_figures(on, scene, ["fog/5"], "x")
    values = {name: each.value for name, each in found.items()}
    assert values["found"] == 1 and values["delay"] == 20
    assert values["costly on"] == 0.8 and values["benign on"] == 0.2


@dataclass
class MadeRecordings(Recordings):
    """Recordings of a made network, which no file holds."""

    def __init__(self, folder: Path, severities: tuple[int, ...] = (5,)) -> None:
        setting = RunSize("made", 200, 200, 1000, 1000, (0,), severities, corrupted_once=True)
        super().__init__("no weights", str(folder), setting)
        self.unhurt = UNHURT[: 2 if len(severities) == 1 else None]
        self.calls: list[str] = []

    def part(self, task: str, part: str) -> Any:
        return SimpleNamespace(y=np.arange(200) % CLASSES)

    def has(self, task: str, seed: int, row: Any) -> bool:
        return bool(row.method.recipe == "plain" and row.method.members == 1)

    def place(self, task: str, part: str, seed: int, row: Any) -> Path:
        return self.folder / part

    def banks(self, task: str, part: str, seed: int, rows: Any, sources: Any) -> Any:
        y = self.part(task, part).y
        hurts = {name: 0.0 if name in self.unhurt else 1.0 for name in sources}
        return {rows[0].label: {name: spoken(y, hurts[name], at) for at, name in enumerate(sources)}}

    def of_stream(self, description: Description, seed: int, row: Any) -> Recorded:
        """Say something new at every step, as no shaken picture is like another."""
        stream = build(description, self.part(description.dataset, description.part).y)
        bad = ~np.isin(np.array(stream.sources)[stream.source], self.unhurt)
        fine, hurt = (spoken(stream.label, each, description.seed) for each in (0.0, 1.0))
        return Recorded(
            np.where(bad[:, None], hurt.probs, fine.probs),
            np.where(bad[:, None], hurt.features, fine.features),
        )


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


def test_mixed_streams_have_one_fit_and_tell_benign_time_from_costly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "OURS", {"tcuq": OURS["tcuq"]})
    sizes = StreamSizes(
        stretch=300, dev=2, clean_dev=1, test=1, clean_test=1, mixed_stretch=2500, mixed_dev=2, mixed_test=6
    )
    unit = Unit(UnitPlan("cifar10", 0, sizes, (1, 5)), MadeRecordings(tmp_path, (1, 5)))
    rates = unit.error_rates("test class 16")
    assert rates["clean"] == rates["attenuated/1"] < 0.3 < rates["blank/1"]
    assert rates["frozen/1"] == pytest.approx(1 - 1 / CLASSES)
    kept = [replace(each, settings=each.settings[:1]) for each in RIVALS if each.name == "CUSUM"]
    found = alarms.measure(unit, ("mixed", "mixed, clean"), kept)
    assert set(found.choices) == {"untold", "told, mixed", "test"}
    for row in ("tcuq", "CUSUM"):
        figures = {
            key.column: each.value for key, each in found.figures.items() if key[:3] == ("mixed", row, "told")
        }
        assert figures["costly on"] > 0.5 > figures["benign on"] and figures["clean on"] < 0.3
        assert figures["collapse found"] == 1 and "delay (equal)" in figures
        assert not [key for key in found.figures if key[:3] == ("mixed", row, "untold")]
        still = {key.column for key in found.figures if key[:3] == ("mixed, clean", row, "told")}
        assert {name.removesuffix(alarms.EQUAL) for name in still} == {"clean on", "false per 10,000"}
    scene, silent = scene_of(unit.shown("test mixed")), np.zeros((6, 2500), dtype=bool)
    assert shift_figures(silent, scene, [], "x")["collapse found"].value == 0
    told = OURS["tcuq"](unit, "law mixed")
    ((_, row),) = mixed.figures(unit, "mixed", {"labels": told})  # the table of one network counts alike
    for column in ("clean on", "benign on", "costly on", "found", "delay"):
        assert row[column] == found.figures[Key("mixed", "tcuq", "told", column)].value
    assert 0 < row["acc ours"] < 1 and 0 < row["acc ATC"] < 1 and row["answer"] < row["wrong"] + 0.005
