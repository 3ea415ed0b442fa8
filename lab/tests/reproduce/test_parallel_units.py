"""Units of experiments: rows that lack networks of a seed, several processes, progress in files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[all]'")

from kept_recordings import PLAIN, TINY, Kept

from tcuq_lab.comparison.records import Results, record
from tcuq_lab.reproduce.experiment import NoNetworks
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from
from tcuq_lab.reproduce.run import run
from tcuq_lab.reproduce.table import plain, table, text

THREE = experiment_from({**PLAIN, "rows": ["base", "deep", "hydra"]}, {})


class Some(Kept):
    """Recordings of some rows."""

    weights = "weights"

    def __init__(self, folder: Path, *names: str) -> None:
        super().__init__(folder)
        self.names = names

    def has(self, task: str, seed: int, row: Any) -> bool:
        return seed == 0 or row.label in self.names


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (("base", "deep", "hydra"), ["base", "deep", "hydra"]),
        (("base", "deep"), ["base", "deep"]),
        (("base",), None),  # there is nothing to compare it with
        (("deep", "hydra"), None),  # what they are compared with is missing
        ((), None),
    ],
)
def test_a_unit_compares_the_rows_that_have_networks(
    tmp_path: Path, names: tuple[str, ...], left: list[str] | None
) -> None:
    some: Any = Some(tmp_path, *names)
    assert THREE.compared(some, Unit("cifar10", 16, 0)) is THREE
    found = THREE.compared(some, Unit("cifar10", 16, 4))
    assert left == (None if found is None else [row.label for row in found.rows])


def test_an_experiment_of_one_row_is_run_and_one_without_networks_is_refused(tmp_path: Path) -> None:
    alone = experiment_from({**PLAIN, "rows": ["base"]}, {})
    some: Any = Some(tmp_path, "base")
    assert alone.compared(some, Unit("cifar10", 16, 4)) is alone
    none: Any = Some(tmp_path)
    none.setting = replace(TINY, seeds=(3, 4))
    with pytest.raises(NoNetworks, match="x finds no networks to compare in weights, expected resnet8-3"):
        run(alone, none)


def test_a_row_is_a_mean_over_the_seeds_that_it_has() -> None:
    found = {}
    for seed, values in enumerate([{"base": 0.5, "deep": 0.7}, {"base": 0.7}]):
        rows = [
            record(kind, name, "drop_auprc", "own/smoothed/unseen", value, 9)
            for name, value in values.items()
            for kind in ("fog", "snow")
        ]
        found[str(seed)] = Results(rows, {"task": "cifar10", "dwell": 16})
    lines = {line["row"]: line for line in table(THREE, found)}
    assert [(lines[row]["networks"], lines[row]["n"]) for row in ("base", "deep")] == [(2, 4), (1, 2)]
    assert math.isclose(lines["base"]["value"], 0.6) and lines["deep"]["value"] == 0.7
    assert plain([lines["deep"]])[0]["seeds"] == [0.7, None]
    assert " of " not in text(list(lines.values()))  # it is defined on all streams of its seed


@pytest.mark.slow
def test_units_in_several_processes_give_the_same_records(tmp_path: Path) -> None:
    plan = experiment_from({**PLAIN, "dwells": [4, 16], "rows": ["base", "mean_posterior"]}, {})
    told: list[tuple[int, int, str]] = []
    one, two = Kept(tmp_path / "one"), Kept(tmp_path / "two")
    alone = run(plan, one)  # type: ignore[arg-type]
    beside = run(plan, two, lambda *given: told.append(given), jobs=2)  # type: ignore[arg-type]
    assert repr(alone.lines) == repr(beside.lines) and told[-1] == (2, 2, "")
    again = run(plan, two, jobs=2)  # type: ignore[arg-type]
    assert repr(again) == repr(beside)
