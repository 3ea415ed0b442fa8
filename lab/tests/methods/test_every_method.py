"""One suite of checks over all methods: baselines, rivals, estimates, alarms, rules for late labels.

Each is shown what real networks said to real development examples, as recorded in the repository, through the
checks that a user's own method meets in `tcuq-lab bench`: shapes, no look ahead, stretches that begin afresh,
the same words again and after a second fit, steps that say what `watch` says.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from places import LAB

from tcuq.metrics import auroc
from tcuq_lab.benchmark.entries import BUILT_IN, AtLimit, built_in
from tcuq_lab.detectors.alarm import RIVALS
from tcuq_lab.harness.checks import Checked, Entry, difference
from tcuq_lab.harness.types import Answers, Dev, Outputs, Truth
from tcuq_lab.methods import METHODS, WEAKENED, names_of, suffix_of
from tcuq_lab.methods.banks import load_bank, observed
from tcuq_lab.methods.estimates import ESTIMATES, GDE, OTHER, Estimated
from tcuq_lab.methods.method import TRIALS, Scored
from tcuq_lab.streams import Description, Geometric, Segments, Shift, Stream, build

pytestmark = pytest.mark.slow

FOLDER = LAB / "recorded" / "resnet8"
ABOUT = json.loads((FOLDER / "about.json").read_text())
STEPS, STRETCH, WINDOW = 1200, 300, 20
BY_KIND = ("odin_energy", "godin_energy")
"""The level of an energy moves with the kind of corruption: across kinds it can be worse than chance."""


@cache
def bank(name: str) -> dict[str, Outputs]:
    return load_bank(FOLDER / f"{name}.npz")


@cache
def stream(seed: int) -> Stream:
    shifts = tuple(Shift(kind, (int(level),)) for kind, level in (s.split("/") for s in ABOUT["sources"][1:]))
    given: dict[str, Any] = {"dataset": "cifar10", "part": "dev", "seed": seed, "steps": STEPS}
    plan = Description(dwell=Geometric(16), layout=Segments(mean=70, minimum=30), shifts=shifts, **given)
    return build(plan, ABOUT["labels"])


@cache
def seen(seed: int, network: str = "plain") -> Outputs:
    found = observed(stream(seed), bank(network))
    other = {OTHER: observed(stream(seed), bank("deep")).probs} if network == "plain" else {}
    return replace(found, extra={**found.extra, **other}, stretches=np.arange(STEPS) // STRETCH)


def development(labels: bool = True, network: str = "plain") -> Dev:
    shown, of = stream(0), seen(0, network)
    clean, names = bank(network)["clean"], tuple(shown.sources)
    wrong = {name: (bank(network)[name].probs.argmax(1) != ABOUT["labels"]).mean() for name in names}
    truth = Truth(shown.label.copy(), shown.source.astype(int), of.stretches, names, shown.shift.copy())
    known = {"truth": truth, "errors": wrong} if labels else {}
    clean = replace(clean, stretches=np.arange(len(clean)) // 150)
    return Dev(of.probs, of.features, of.extra, of.stretches, clean=clean, **known)


class OfWindows(Estimated):
    """An estimate as it would run: at each step, of the last steps of its stretch."""

    def watch(self, seen: Outputs) -> Answers:
        said = super().watch(seen)
        steps = np.arange(len(seen))[:, None] - np.arange(WINDOW)[::-1]
        return said._replace(accuracy=said.accuracy(np.maximum(0, steps)))


class Recording(Scored):
    """A method that may learn from what was recorded of clean examples."""

    def fit(self, dev: Dev) -> None:
        self.learn(bank(bank_of(type(self.method)))["clean"], np.array(ABOUT["labels"]))
        super().fit(dev)


def bank_of(kind: Any) -> str:
    return {"exits_alone": "early_exit"}.get(kind.bank, kind.bank)


@dataclass(frozen=True)
class Case:
    """A method, as the checks take it."""

    make: Callable[[], Any]
    settings: Sequence[Mapping[str, Any]] = ({},)
    network: str = "plain"
    labels: bool = True
    told: bool = False
    pickles: bool = True  # curves of estimates are closures, and entries of the benchmark classes made there


def cases() -> dict[str, Case]:
    found = {
        f"method {name}": Case(partial(Recording, kind), kind.grid, bank_of(kind))
        for name, kind in METHODS.items()
    }
    for rival in RIVALS:
        network = "deep" if rival.row == "deep" else "plain"
        found[f"alarm {rival.name}"] = Case(partial(AtLimit, rival), rival.settings, network)
    for each in (*ESTIMATES, GDE):
        found[f"accuracy {each.name}"] = Case(partial(OfWindows, each), each.grid, pickles=False)
    for name in BUILT_IN:
        entry = built_in(name)
        made = Case(entry.make, labels=entry.uses_labels, told=entry.told, pickles=False)
        found[f"bench {name}"] = made
    return found


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_a_method_keeps_the_rules(name: str) -> None:
    case, truth = CASES[name], stream(1)
    entry = Entry(case.make, name, case.labels, 1, "", "", name, case.told)
    dev, test = development(case.labels, case.network), seen(1, case.network)
    method = Checked(entry, dev, "recorded")
    state = method.state_bytes
    if case.told:
        said = method.told(test, lambda at, then: int(truth.label[at]) if at % 10 == 0 else None, 20)
        assert method.again is not None and method.again.labels == STEPS // 40 - 2
    else:
        said = method.watch(test)
    assert method.state_bytes == state  # it does not grow with what was watched
    wrong, all_of = said.answer != truth.label, np.ones(STEPS, dtype=bool)
    groups = [truth.shift == kind for kind in range(5)] if name[7:] in BY_KIND else [all_of]
    assert np.mean([auroc(said.risk[group], wrong[group]) for group in groups]) > 0.5
    first = test.split()[0]
    before = method.say(first, "before")
    if dev.truth is not None:
        dev.truth.labels[:] = 0  # whoever was fitted learns no more from them
    if case.pickles:
        method.method = pickle.loads(pickle.dumps(method.method))
    assert difference(method.say(first, "after"), before, STRETCH) is None


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("bench")])
def test_settings_are_few_and_the_first_is_the_default(name: str) -> None:
    settings = CASES[name].settings
    assert len(settings) in (1, TRIALS) and len({repr(each) for each in settings}) == len(settings)
    fresh = CASES[name].make()
    fresh = getattr(fresh, "method", fresh)
    assert getattr(fresh, "setting", settings[0]) == settings[0]


@pytest.mark.parametrize("backbone", ["cnn4", "dscnn", "resnet8"])
def test_the_recorded_networks_are_those_that_methods_take(backbone: str) -> None:
    about = json.loads((FOLDER.with_name(backbone) / "about.json").read_text())
    for kind in METHODS.values():
        if kind not in WEAKENED:
            names = names_of(kind, backbone, 0, suffix_of(kind, backbone, LAB / "weights"))
            assert about["networks"][kind.bank] == names
            assert all((LAB / "weights" / f"{name}.npz").exists() for name in names)
