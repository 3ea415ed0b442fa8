"""Parameter files and states of earlier versions load, and monitors go on from them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT
from refusals import refused

from tcuq import Bank, Monitor, Params
from tcuq.monitor.state import state_for

OLD = ROOT / "vectors" / "old" / "0.3"
PAPER = ("paper", "paper_posteriors", "paper_labels")
STANDARD = ("standard", "standard_own", "standard_labels")
"""Cases of version 0.3: parameters, the state after half of the steps, and what it said of all of them."""


class Case:
    """What version 0.3 left in a folder."""

    def __init__(self, name: str) -> None:
        self.folder: Path = OLD / name
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.params = Params.load(self.folder / "params.json")
        self.state = (self.folder / "state.bin").read_bytes()
        told: dict[str, Any] = json.loads((self.folder / "steps.json").read_text())
        self.cut, self.steps, self.labels = told["cut"], told["steps"], told["labels"]
        count = len(self.labels)
        self.probs = np.frombuffer(bytes.fromhex(told["probs"]), np.int8).reshape(count, -1)
        features = np.frombuffer(bytes.fromhex(told["features"]), np.int8).reshape(count, -1)
        self.features = features if features.size else [None] * count

    def run(self, monitor: Monitor, first: int) -> dict[str, list[int]]:
        """Return what a monitor says from a step on, labels coming two steps late as they did."""
        found: dict[str, list[int]] = {name: [] for name in self.steps}
        for t in range(first, len(self.labels)):
            step = monitor.step(self.probs[t], self.features[t])
            for name, values in found.items():
                value = getattr(step, name)
                values.append(round(value * 65536) if isinstance(value, float) else int(value))
            if self.params.feedback is not None and t % 3 == 0 and t >= 2:
                monitor.feedback(t - 2, self.labels[t - 2])
        return found

    def said(self, first: int) -> dict[str, list[int]]:
        """Return what version 0.3 said from a step on."""
        return {name: values[first:] for name, values in self.steps.items()}


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_profile_of_0_3_gives_the_same_bits(name: str) -> None:
    case = Case(name)
    assert case.run(Monitor(case.params), 0) == case.said(0)
    assert case.run(Monitor(case.params).load(case.state), case.cut) == case.said(case.cut)


@pytest.mark.parametrize("name", STANDARD)
def test_the_standard_profile_of_0_3_changes_by_the_rule_of_its_experts_alone(name: str) -> None:
    """The class mix counts only where the alarm sees a shift now, and the slowest expert is slower."""
    case = Case(name)
    found = case.run(Monitor(case.params).load(case.state), case.cut)
    said = case.said(case.cut)
    assert found["prediction"] == said["prediction"] and found["alarm"] == said["alarm"]
    assert sum(map(int.__ne__, found["answer"], said["answer"])) <= 2
    assert np.abs(np.subtract(found["risk"], said["risk"])).mean() < 0.02 * 65536
    assert found["persistence"] != said["persistence"]


@pytest.mark.parametrize("name", [*PAPER, *STANDARD])
def test_a_state_of_0_3_is_one_of_today_with_another_fingerprint(name: str) -> None:
    case = Case(name)
    renewed = Monitor(case.params).load(case.state).save()
    assert renewed != case.state and len(renewed) == len(case.state)
    assert renewed[20:-4] == case.state[20:-4] and renewed[:16] == case.state[:16]
    bank = Bank(case.params, 2)
    bank.load_many([0, 1], case.state + renewed)
    assert bank.save_many([0, 1]).tobytes() == renewed + renewed
    assert state_for(case.params, case.state).steps == case.cut


def test_a_class_mix_in_use_is_left_out_with_one_line_and_its_state_is_refused() -> None:
    with pytest.warns(UserWarning, match="^class_mix is ignored, [^\n]*$") as told:
        params = Params.load(OLD / "class_mix" / "params.json")
    assert len(told) == 1
    monitor = Monitor(params)
    with refused("damaged"):
        monitor.load(OLD / "class_mix" / "state.bin")
    assert monitor.steps == 0


def test_a_damaged_state_of_0_3_is_refused() -> None:
    case = Case("standard")
    for at in (17, 30, len(case.state) - 1):
        bad = bytearray(case.state)
        bad[at] ^= 1
        with refused("damaged"):
            Monitor(case.params).load(bytes(bad))
