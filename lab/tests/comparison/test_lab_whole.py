"""The lab from a description to a table: streams, a recorded model, methods, events, delays."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pytest

from tcuq_lab.comparison import ComparisonRules, JudgedStream, Scores, Truth, evaluate, pick
from tcuq_lab.streams import Description, Geometric, Segments, Shift, Stationary, Stream, build

KINDS = ("fog", "frost", "snow", "contrast", "pixelate", "brightness", "shot_noise", "glass_blur", "spatter")
LABELS = np.arange(5000) % 10
Bank = dict[str, tuple[npt.NDArray[np.float32], None]]


def simulated_bank(sources: tuple[str, ...], seed: int = 0) -> Bank:
    """Return posteriors that are the flatter the more severe a source is."""
    rng = np.random.default_rng(seed)
    bank: Bank = {}
    for name in sources:
        severity = int(name.partition("/")[2] or 0)
        logits = rng.normal(0, 1, (len(LABELS), 10))
        logits[np.arange(len(LABELS)), LABELS] += 4 - 0.6 * severity
        exp = np.exp(logits)
        bank[name] = ((exp / exp.sum(1, keepdims=True)).astype(np.float32), None)
    return bank


def described(seed: int, **changes: object) -> Description:
    given: dict[str, object] = {"dataset": "cifar10", "part": "test", "seed": seed, "steps": 10_000}
    given |= {"dwell": Geometric(16), "layout": Segments()}
    return Description(**{**given, **changes})  # type: ignore[arg-type]


def case(stream: Stream, bank: Bank, name: str) -> JudgedStream:
    log = stream.log(bank)
    doubt = 1 - log.confidence()
    recent = np.convolve(doubt, np.full(4, 0.25))[: len(doubt)]
    truth = Truth(stream.label, stream.shift, names=stream.kinds)
    said = log.predictions()
    return JudgedStream(name, truth, [Scores("BASE", doubt, said), Scores("mean of 4", recent, said)])


@pytest.fixture(scope="module")
def result() -> tuple[list[dict[str, object]], float]:
    shifts = [Shift(kind, (3, 5)) for kind in (*KINDS, "motion_blur")]
    began = time.process_time()
    bank = simulated_bank(("clean", *(f"{each.kind}/{s}" for each in shifts for s in each.severities)))
    prepared = time.process_time() - began
    tests = [
        case(build(described(number, shifts=(each,)), LABELS), bank, each.kind)
        for number, each in enumerate(shifts)
    ]
    still = [build(described(90 + n, layout=Stationary(), steps=20_000), LABELS) for n in range(2)]
    dev = [case(still[0], bank, "clean dev")]
    clean_test = [case(still[1], bank, "clean test")]
    shifted_dev = [case(build(described(99, shifts=(shifts[0],)), LABELS), bank, "shifted dev")]
    records = evaluate(tests, dev, ComparisonRules(seen=("fog",)), shifted_dev, clean_test)
    return records, time.process_time() - began - prepared


@pytest.mark.slow
def test_ten_kinds_of_ten_thousand_steps_take_less_than_ten_seconds(
    result: tuple[list[dict[str, object]], float],
) -> None:
    records, seconds = result  # of one core, so that a busy machine does not fail the test
    assert len({row["stream"] for row in pick(records, metric="drop_auprc")}) == 10
    assert seconds < 10
