"""Every method on what real networks said to real development examples, as recorded in the repository."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from places import LAB

from tcuq.metrics import auroc
from tcuq_lab.methods.bank_files import load_bank
from tcuq_lab.methods.gather import observed
from tcuq_lab.methods.method import Labeled, Method, Recorded
from tcuq_lab.methods.networks import names_of, suffix_of
from tcuq_lab.methods.registry import METHODS, WEAKENED
from tcuq_lab.streams import Description, Geometric, Segments, Shift, Stream, build

FOLDER = LAB / "recorded"
BACKBONES = ("cnn4", "dscnn", "resnet8")
RECORDED = [each for each in METHODS.values() if each not in WEAKENED]
NAMES = sorted(each.name for each in RECORDED if not each.name.endswith("_plus"))

WITHIN = ("odin_energy", "godin_energy")
"""The level of the energy moves with the kind of corruption: across kinds it can be worse than chance."""


@cache
def about(backbone: str) -> dict[str, Any]:
    return json.loads((FOLDER / backbone / "about.json").read_text())


@cache
def bank(backbone: str, name: str) -> dict[str, Recorded]:
    return load_bank(FOLDER / backbone / f"{name}.npz")


@cache
def stream(backbone: str, seed: int = 0) -> Stream:
    known = about(backbone)
    kinds = dict.fromkeys(source.split("/")[0] for source in known["sources"] if source != "clean")
    levels = {source.split("/")[0]: int(source.split("/")[1]) for source in known["sources"][1:]}
    plan = Description(
        dataset=known["dataset"],
        part="dev",
        seed=seed,
        steps=3000,
        dwell=Geometric(16),
        layout=Segments(),
        shifts=tuple(Shift(kind, (levels[kind],)) for kind in kinds),
    )
    return build(plan, known["labels"])


def development(each: Method, backbone: str, seed: int = 0) -> Labeled:
    shown = stream(backbone, seed)
    seen = observed(shown, bank(backbone, each.bank))
    return Labeled(seen, shown.label, shown.shift.astype(np.uint8))


def fit(each: Method, backbone: str, dev: Labeled) -> None:
    each.learn(bank(backbone, each.bank)["clean"], np.array(about(backbone)["labels"]))
    each.fit(dev)


def cells() -> list[Any]:
    """Every method on every backbone; variants of TCUQ on one, and on the others in the slow tier."""
    found = []
    for name in NAMES:
        variant = METHODS[name].has_monitor and name != "tcuq_paper"
        for backbone in BACKBONES:
            slow = variant and backbone != "resnet8"
            found.append(pytest.param(name, backbone, marks=[pytest.mark.slow] if slow else []))
    return found


@pytest.mark.parametrize(("name", "backbone"), cells())
def test_every_method_ranks_its_own_errors(name: str, backbone: str) -> None:
    each = METHODS[name]()
    dev = development(each, backbone)
    fit(each, backbone, dev)
    found = each.answer(dev.observed)
    wrong = found.predictions() != dev.labels
    assert found.score.shape == (len(dev.labels),)
    assert found.probs.shape == (len(dev.labels), 10)
    assert np.isfinite(found.score).all()
    assert wrong.any() and not wrong.all()
    if name in WITHIN:
        kinds = [dev.kinds == kind for kind in np.unique(dev.kinds)]
        assert np.mean([auroc(found.score[rows], wrong[rows]) for rows in kinds]) > 0.5
    else:
        assert auroc(found.score, wrong) > 0.5
    if backbone == BACKBONES[0]:
        again = METHODS[name]()
        fit(again, backbone, dev)
        assert again.setting == each.setting
        np.testing.assert_array_equal(again.answer(dev.observed).score, found.score)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_recorded_networks_are_those_that_methods_take(backbone: str) -> None:
    for each in RECORDED:
        if each.name in NAMES:
            names = names_of(each, backbone, 0, suffix_of(each, backbone, LAB / "weights"))
            assert about(backbone)["networks"][each.bank] == names
            assert all((LAB / "weights" / f"{name}.npz").exists() for name in names)
