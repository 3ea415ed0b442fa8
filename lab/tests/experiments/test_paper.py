"""The paper's tables: which streams and rows there are, fits that are kept, and what a run prints."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import TINY, Kept

from tcuq.metrics import auroc
from tcuq_lab.experiments import backbones, paper_metrics
from tcuq_lab.experiments.paper import PAPER, PaperExperiment
from tcuq_lab.experiments.paper_streams import (
    STRANGE,
    PaperPlan,
    PaperUnit,
    fit,
    fit_once,
    fit_place,
    learned,
)
from tcuq_lab.experiments.registry import EXPERIMENTS
from tcuq_lab.experiments.result_files import result_text, unpacked
from tcuq_lab.experiments.run import NoNetworks, run
from tcuq_lab.harness.laws import StreamSizes
from tcuq_lab.harness.lines import Found, from_entries
from tcuq_lab.methods.paper import TcuqPaper, TcuqTs
from tcuq_lab.reproduce.rows import row_of

pytestmark = pytest.mark.slow

PLAN = PaperPlan("cifar10", 16.0, 0, TINY)


def unit_of(kept: Any) -> PaperUnit:
    return PaperUnit(PLAN, kept, PAPER["drop"].networks)


def small(name: str, *rows: str) -> PaperExperiment:
    """Return a declared table with a few of its rows on one task."""
    spec = PAPER[name]
    found = tuple(row for row in spec.networks if row.label in rows)
    return replace(spec, tasks=("cifar10",), dwells=(16.0,), networks=found)


def test_tables_are_declared_once_and_compare_with_the_plain_network(tmp_path: Path) -> None:
    assert {"drop", "failure", "severity", "literal", "ablation", "headlines"} <= set(PAPER)
    for spec in PAPER.values():
        assert len({row.label for row in spec.networks}) == len(spec.networks)
        assert spec.networks[0].method.name == "base" or spec.name in ("exits", "rate_audit")
        assert len(set(spec.columns.values())) == len(spec.columns)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_can_be_sent_to_another_process(name: str) -> None:
    assert pickle.loads(pickle.dumps(EXPERIMENTS[name])).name == name


def test_no_stream_serves_two_ends(tmp_path: Path) -> None:
    unit = unit_of(Kept(tmp_path))
    roles = ["dev", "chosen", "clean dev", "clean test", *(f"ood {each}" for each in STRANGE)]
    roles += [f"type {kind}" for kind in unit.kinds]
    streams = [stream for role in roles for stream in unit._built(role)]
    assert len({stream.digest() for stream in streams}) == len(streams)
    assert set(unit.unseen).isdisjoint(unit.suite.seen)
    assert all(name in unit.sources("dev") for name in unit.truth("dev").names)


def test_a_table_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, kept = small("drop", "base", "tcuq_paper"), Kept(tmp_path)
    found = run(plan, kept)  # type: ignore[arg-type]
    shown = {(line["row"], line["column"]): line["value"] for line in found.lines}
    assert {row for row, _ in shown} == {"base", "tcuq_paper"}
    assert all(0 < shown[row, "AUPRC, unseen kinds"] <= 1 for row in ("base", "tcuq_paper"))
    share = "share of drop events, unseen kinds"
    assert shown["base", share] == shown["tcuq_paper", share]  # both have the answers of one network
    assert "| tcuq_paper |" in plan.shown(found)
    monkeypatch.setattr(paper_metrics, "of_drops", None)  # measuring again would fail
    assert run(plan, kept) == found  # type: ignore[arg-type]
    errors = small("failure", "base", "tcuq_paper")  # has been measured with it
    assert {line["row"] for line in run(errors, kept).lines} == {"base", "tcuq_paper"}  # type: ignore[arg-type]
    with pytest.raises(TypeError):  # another row is another cell
        run(small("drop", "base", "entropy"), kept)  # type: ignore[arg-type]


class Some(Kept):
    """Recordings of some rows beside those of the first seed."""

    weights = "weights"

    def __init__(self, folder: Path, *names: str) -> None:
        super().__init__(folder, replace(TINY, seeds=(0, 4)))
        self.names = names

    def has(self, task: str, seed: int, row: Any) -> bool:
        return seed == 0 or row.label in self.names


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (("base", "deep", "hydra"), 3),
        (("base", "deep"), 2),
        (("base",), 0),  # there is nothing to compare it with
        (("deep", "hydra"), 0),  # what they are compared with is missing
    ],
)
def test_a_seed_has_the_rows_that_have_networks(tmp_path: Path, names: tuple[str, ...], left: int) -> None:
    some: Any = Some(tmp_path, *names)
    plans = [piece.of[0].seed for piece in small("drop", "base", "deep", "hydra").pieces(some)]
    assert (plans.count(0), plans.count(4)) == (3, left)


def test_a_table_without_networks_is_refused(tmp_path: Path) -> None:
    some: Any = Some(tmp_path)
    some.has = lambda *given: False
    with pytest.raises(NoNetworks, match=r"drop finds no networks to compare in weights, expected resnet8-0"):
        small("drop", "base", "deep").pieces(some)


def test_variants_follow_the_choice_of_the_paper_monitor(tmp_path: Path) -> None:
    unit = unit_of(Kept(tmp_path))
    full, lacking = (
        fit(row_of(name), unit, "dev").method for name in ("tcuq_paper", "tcuq_paper_no_temporal")
    )
    assert lacking.setting == full.setting and lacking.held_out == full.held_out
    assert len(full.params.signals) > 1 and lacking.params.signals == ("doubt",)


def test_a_fit_that_was_kept_is_the_same_fit(tmp_path: Path) -> None:
    unit, row = unit_of(Kept(tmp_path)), row_of("tcuq_paper")
    first, again = (fit(row, unit, "dev") for _ in range(2))
    place = fit_place(row, unit)
    assert place.exists() and again.method.params == first.method.params
    seen = unit.outputs("clean test")
    for one, other in zip(first.watch(seen)[:2], again.watch(seen)[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    _, dev = learned(row, unit, "dev")
    with pytest.raises(ValueError, match="tcuq_paper_ts fits more than parameters; fit is needed"):
        TcuqTs().restore(dev, first.method.fit_record())
    with pytest.raises(ValueError, match="held_out has 1 entries, expected 8"):
        TcuqPaper().restore(dev, {**first.method.fit_record(), "held_out": [0.5]})
    whole = place.read_text()
    for damaged in (
        "{",
        "[]",
        whole.replace("tcuq fit 1", "x"),
        whole.replace('"classes": 10', '"classes": 1'),
    ):
        place.write_text(damaged)
        with pytest.raises(ValueError, match=r"json is not a fit that was kept: ") as caught:
            fit_once(TcuqPaper(), dev, place)
        assert len(str(caught.value).splitlines()) == 1


def test_a_decision_that_does_not_follow_is_a_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_run = paper_metrics.run_over

    def forged(*args: Any, **more: Any) -> Any:
        if not more:
            return true_run(*args)
        steps, signals = true_run(*args, **more)
        steps["abstain"][500] ^= True
        return steps, signals

    monkeypatch.setattr(paper_metrics, "run_over", forged)
    kept: Any = Kept(tmp_path)
    found = PAPER["rate_audit"].measured(PaperUnit(PLAN, kept, [row_of("tcuq_paper")])).figures
    values = {key.column: each.value for key, each in found.items()}
    assert values["violations all"] >= values["streams all"] > 0


class Shown(Kept):
    """Recordings of one backbone."""

    def has(self, task: str, seed: int, row: Any) -> bool:
        return row.backbone == "vit"


def test_another_network_is_measured_by_its_confidence_and_by_the_monitor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbones, "sizes_of", lambda name: StreamSizes(stretch=400, dev=3, test=3))
    kept, spec = Shown(tmp_path, replace(TINY, name="trial")), backbones.SPEC
    assert spec.absent(kept) == ["mobilenetv2", "resnet50", "text"]  # type: ignore[arg-type]
    found = run(spec, kept)  # type: ignore[arg-type]
    path = tmp_path / "backbones.json"
    path.write_text(result_text(spec, kept.setting, found))
    about = unpacked(path, json.loads(path.read_text()))
    lines = Found(from_entries(about["lines"]))
    assert (
        about["setting"]["networks"] == {"vit": "cifar10"}
        and about["choices"]["vit-0"]["tcuq"]["dev"]["classes"] == 10
    )
    accuracy = (kept.bank(row_of("base"))["clean"].probs.argmax(1) == kept.labels).mean()
    assert {each.task for each in lines.lines} == {"vit"}

    near = partial(pytest.approx, abs=2e-6)  # files have six digits

    def line(*place: str) -> Any:
        return lines.get("vit", *place)

    assert line("clean", "base", "", "accuracy").value == near(accuracy)
    (plan,) = spec.plans(kept)  # type: ignore[arg-type]
    unit = spec.unit(plan, kept)  # type: ignore[arg-type]
    for law in ("class 1", "class 16"):
        probs = unit.outputs(f"test {law}").probs
        wrong = probs.argmax(1) != unit.truth(f"test {law}").labels
        base, ours = line(law, "base", "", "error AUROC"), line(law, "tcuq", "untold", "error AUROC")
        assert line(law, "base", "", "errors").value == near(wrong.mean())
        assert base.value == near(auroc(1 - probs.max(1), wrong)) and base.low <= base.value
        gap = line(law, "tcuq - base, unfitted", "untold", "error AUROC")
        assert gap.value == near(ours.value - base.value)
        assert line(law, "base", "", "errors at 90 %").value < wrong.mean()
