"""Labels that come late: what they change, and a bound on errors that holds whatever they say."""

from __future__ import annotations

import math
import pickle
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tcuq import Alarm, AlarmSide, Bank, EvidenceHead, Feedback, InputError, Monitor, Params
from tcuq.monitor.state import read_state
from tcuq.monitor.steps import reason_names

SCORES = {"wrong_score": 1.5, "right_score": 1.0}
ALARM = Alarm(0.2, AlarmSide(allowance=0.1, limit=2.0, cap=4.0), None)
LABELED = Feedback(memory=5, max_error=0.1, reference=0.6, hard="error", **SCORES)
PARAMS = Params(
    classes=4, signals=("doubt",), lags=(), horizon=16, blend=0, bias=-6, alarm=ALARM, feedback=LABELED
)


def stream(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).dirichlet([0.3] * 4, count)


def labeled(monitor: Monitor, probs: Any, seed: int = 0) -> list[Any]:
    """Run a monitor with labels of any kind, up to seven steps late."""
    rng, out = np.random.default_rng(seed), []
    for row in probs:
        out.append(monitor.step(row))
        for ago in rng.integers(0, 7, 2):
            label = rng.choice([0, 1, 2, 3, True, False]) if rng.random() < 0.5 else int(rng.integers(4))
            out.append(taken(monitor, monitor.steps - 1 - int(ago), label))
    return out


def taken(monitor: Monitor, step: int, label: Any) -> bool:
    """Give a label; return whether it was taken."""
    try:
        monitor.feedback(step, label)
    except InputError:
        return False
    return True


def test_a_bank_equals_monitors() -> None:
    bank, single = Bank(PARAMS, 3), [Monitor(PARAMS) for _ in range(3)]
    rng, probs = np.random.default_rng(1), stream(300)
    for row in probs:
        slots = rng.integers(0, 3, 4)
        bank.run(slots[:1], row[None])
        single[slots[0]].step(row)
        ago, truth, right = rng.integers(0, 7, 4), rng.integers(0, 4, 4), rng.random(4) < 0.7
        steps = [single[slot].steps - 1 - back for slot, back in zip(slots, ago, strict=True)]
        for labels, numbers in ((truth, steps), (right, -1 - ago)):  # -1 is the last step
            numbers = [max(each, -9) for each in numbers]
            told = bank.feedback(
                slots, [-9 if step < 0 else each for step, each in zip(steps, numbers, strict=True)], labels
            )
            alone = [
                step >= 0 and taken(single[slot], step, label)
                for slot, step, label in zip(slots, steps, labels, strict=True)
            ]
            assert told.tolist() == alone
    states = bank.save_many(range(3))
    assert [row.tobytes() for row in states] == [each.save() for each in single]
    assert len({each.error_debt for each in single}) > 1


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 37])
def test_a_saved_or_pickled_monitor_goes_on_as_if_nothing_had_happened(cut: int) -> None:
    probs, first = stream(80), Monitor(PARAMS)
    labeled(first, probs[:cut])
    saved = first.save()
    assert read_state(saved).steps == cut
    twins = [Monitor(PARAMS).load(saved), pickle.loads(pickle.dumps(first))]
    expected = labeled(first, probs[cut:], 1)
    for twin in twins:
        assert labeled(twin, probs[cut:], 1) == expected
        assert twin.save() == first.save() and twin.error_debt == first.error_debt
    with refused("damaged"):
        Monitor(PARAMS.replace(feedback=replace(LABELED, shut=9.0))).load(saved)


def test_labels_are_refused_where_they_mean_nothing() -> None:
    monitor, bank, plain = Monitor(PARAMS), Bank(PARAMS, 2), PARAMS.replace(feedback=None)
    with refused("value", "step"):
        monitor.feedback(0, True)
    before = monitor.step([1.0, 0.0, 0.0, 0.0]) and monitor.save()
    for name, step, label in (("step", 1, True), ("step", -1, True), ("label", 0, 4), ("label", 0, -2)):
        with refused("value", name):
            monitor.feedback(step, label)
    with pytest.raises(InputError, match=r"^step is 9\.0, expected an integer, "):
        monitor.feedback(9.0, True)  # type: ignore[arg-type]
    assert monitor.save() == before
    monitor.feedback(0, -1)
    assert monitor.error_debt == pytest.approx(0.9), "-1: no class is right"
    after = monitor.save()
    with refused("conflict", "step"):
        monitor.feedback(0, True)
    assert monitor.save() == after
    for _ in range(5):
        monitor.step([1.0, 0.0, 0.0, 0.0])
    with pytest.raises(
        InputError, match=r"^step is 0, expected one of the last 5 of 6 steps, counted from 0$"
    ):
        monitor.feedback(0, True)
    bank.run([0], [[1.0, 0.0, 0.0, 0.0]])
    odd: list[tuple[Any, Any]] = [([0], [4]), ([0], [-2]), ([0.0], [0]), ([0, 1], [0])]
    for steps, labels in (*odd, ([0], [[0]]), ([0], ["right"])):
        with refused("value"):
            bank.feedback([0], steps, labels)
    assert bank.feedback([0, 1], [0, 0], [0, 0]).tolist() == [True, False]
    assert bank.feedback([], [], []).tolist() == []
    bank.run([0], [[1.0, 0.0, 0.0, 0.0]])
    assert not bank.feedback([0], np.array([2**64 - 1], np.uint64), [0]).any(), "not the last one"
    for call in (lambda: Monitor(plain).feedback(0, 1), lambda: Bank(plain, 1).feedback([0], [0], [1])):
        with refused("missing"):
            call()
    assert Monitor(plain).error_debt == 0.0 and math.isnan(plain.error_constant)
    for wrong in ({"memory": 0}, {"max_error": 0}, {"hard": "no"}, {"wrong_score": 9}, {"shut": 0}):
        with pytest.raises(ValueError):
            Feedback(**wrong)
    with refused("value"):
        PARAMS.replace(feedback={"memory": 3})
    with pytest.raises(ValueError):
        huge = Alarm(0.2, AlarmSide(allowance=0.1, limit=1.0, cap=5000.0), None)
        Monitor(PARAMS.replace(alarm=huge))


def test_labels_correct_the_expected_accuracy() -> None:
    """A network that is sure of itself and right in half of the cases."""
    monitor = Monitor(PARAMS)
    for step in range(400):
        said = monitor.step([0.99, 0.01, 0, 0])
        monitor.feedback(step, step % 2 == 0)
    assert said.expected_accuracy == pytest.approx(0.5, abs=0.05)


def test_right_labels_withdraw_an_alarm_and_wrong_ones_bring_it_forward() -> None:
    """In steps from calm input to an alarm, after labels and before."""

    def delay(monitor: Monitor) -> int:
        for _ in range(30):
            monitor.step([1.0, 0.0, 0.0, 0.0])
        return next(n for n in range(1, 99) if monitor.step([0.3, 0.3, 0.2, 0.2]).alarm)

    usual, monitor = delay(Monitor(PARAMS)), Monitor(PARAMS)
    delay(monitor)
    for _ in range(3):
        assert monitor.step([0.3, 0.3, 0.2, 0.2]).alarm
        monitor.feedback(monitor.steps - 1, True)
    assert not monitor.step([0.3, 0.3, 0.2, 0.2]).alarm
    assert delay(monitor) > usual
    monitor = Monitor(PARAMS)
    for step in range(6):
        monitor.step([1.0, 0.0, 0.0, 0.0])
        monitor.feedback(step, False)
    assert delay(monitor) < usual


# The bound of SPEC.md section 19.


class Ledger:
    """Counts labels of counted steps and of the way back, and wrong ones, apart from the core."""

    def __init__(self, params: Params) -> None:
        self.monitor, self.params = Monitor(params), params
        self.counts: list[bool] = []
        self.known: set[int] = set()
        self.labels = self.wrong = self.counted = 0
        self.worst = -math.inf

    def step(self, top: int) -> bool:
        """Take a step of some certainty; return whether it is counted."""
        head = self.params.feedback.integers()  # type: ignore[union-attr]
        debt = round(self.monitor.error_debt * head["error_den"])
        said = self.monitor.step(np.array([top - 128, 127 - top], np.int8))
        risk, shut = round(said.risk * 65536), head["error_shut"]
        doubtful = debt >= shut or risk * shut >= head["error_reference"] * (shut - debt)
        self.counts.append(not said.abstain and not doubtful)
        if head["error_first"]:
            assert self.counts[-1] == (not said.abstain)
        return self.counts[-1]

    def label(self, step: int, right: bool) -> None:
        """Give a label, and look whether the bound holds."""
        head, debt = self.params.feedback, self.monitor.error_debt
        back = right and not self.counts[step] and 4 * debt >= 3 * head.shut - 1e-9  # type: ignore[union-attr]
        told = taken(self.monitor, step, right)
        assert told == (step not in self.known and len(self.counts) - step <= self.params.feedback.memory)  # type: ignore[union-attr]
        if told:
            self.known.add(step)
            self.counted += self.counts[step]
            self.labels += self.counts[step] or back
            self.wrong += self.counts[step] and not right
        over = self.wrong - self.params.feedback.max_error * self.labels  # type: ignore[union-attr, operator]
        self.worst = max(self.worst, over)
        assert over <= self.params.error_constant + 1e-9
        alone = self.wrong - self.params.feedback.max_error * self.counted  # type: ignore[union-attr, operator]
        assert alone <= 2 * self.params.error_constant + 1e-9, (
            "labels that lead back pay for so much, and no more"
        )
        assert over - 1e-9 <= self.monitor.error_debt <= self.params.error_constant + 1e-9


def bounded(memory: int, max_error: float, shut: float, hard: str, budget: float = 0.1) -> Params:
    head = Feedback(memory, max_error, 0.9, shut, hard)
    coef = {"doubt": 0.0}
    return Params(
        classes=2, signals=("doubt",), lags=(), coef=coef, bias=-12, blend=0.5, budget=budget, feedback=head
    )


@given(
    st.builds(
        bounded,
        st.integers(1, 9),
        st.sampled_from([0.001, 0.05, 0.2, 0.5, 0.9, 0.999]),
        st.floats(1, 6),
        st.sampled_from(["budget", "error"]),
        st.sampled_from([0.0, 0.1, 1.0]),
    ),
    st.lists(
        st.tuples(st.integers(128, 255), st.lists(st.tuples(st.integers(0, 10), st.booleans()))), max_size=80
    ),
)
def test_the_bound_holds_for_every_input_label_and_delay(params: Params, events: Any) -> None:
    ledger = Ledger(params)
    for top, labels in events:
        ledger.step(top)
        for ago, right in labels:
            if ago < len(ledger.counts):
                ledger.label(len(ledger.counts) - 1 - ago, right)


@pytest.mark.parametrize("hard", ["budget", "error"])
@pytest.mark.parametrize(("memory", "max_error"), [(1, 0.25), (7, 0.02), (64, 0.25)])
def test_labels_that_wait_for_the_worst_moment_come_near_the_bound(
    max_error: float, memory: int, hard: str
) -> None:
    params = bounded(memory, max_error, 4.0, hard)
    ledger = Ledger(params)
    while ledger.monitor.error_debt + 1 - max_error < 4.0 and ledger.step(255):
        ledger.label(len(ledger.counts) - 1, False)
    first = len(ledger.counts)
    assert all(ledger.step(255) for _ in range(memory))
    for step in reversed(range(first, first + memory)):
        ledger.label(step, False)
    assert ledger.worst >= 0.8 * params.error_constant
    # From here on every step is doubtful, and no label makes it worse.
    for _ in range(3 * memory):
        assert not ledger.step(255)
        ledger.label(len(ledger.counts) - 1, False)


def test_labels_that_lead_back_do_not_pay_for_wrong_ones_without_end() -> None:
    """Whatever was accepted is labeled wrong, whatever was withheld right: it falls silent for good."""
    params = bounded(1, 0.05, 4.0, "error", budget=0.0)
    ledger = Ledger(params)
    for step in range(4000):
        ledger.label(step, not ledger.step(255))
    assert params.error_constant < 0.95 * ledger.wrong <= 2 * params.error_constant
    assert not any(ledger.counts[-500:])


def test_labels_that_led_back_are_paid_back_by_right_answers() -> None:
    """After each bad spell a device that goes well has earned another one."""
    ledger, spells = Ledger(bounded(1, 0.05, 4.0, "error", budget=0.0)), 0
    for _ in range(60):
        while ledger.step(255):  # a bad spell: until it falls silent
            ledger.label(len(ledger.counts) - 1, False)
        ledger.label(len(ledger.counts) - 1, True)
        for _ in range(400):
            ledger.step(255)
            ledger.label(len(ledger.counts) - 1, True)
        spells += ledger.counts[-1]
    assert spells == 60


def test_labels_do_not_lower_the_limit_of_a_proved_alarm() -> None:
    """A bet keeps its bound of false alarms, whatever labels say."""
    head = EvidenceHead({"doubt": 8.0}, (-3.0,) * 4, clip=2.0, bet=(1.0, 0.25))
    alarm = Alarm(0.2, AlarmSide(allowance=0.0, limit=3.0, cap=5.0), None)
    params = PARAMS.replace(signals=("doubt", "odds", "degradation"), evidence=head, alarm=alarm)
    quiet, told = Monitor(params), Monitor(params)
    for step in range(40):
        quiet.step([1.0, 0.0, 0.0, 0.0])
        told.step([1.0, 0.0, 0.0, 0.0])
        told.feedback(step, False)
    delays = []
    for monitor in (quiet, told):
        delays.append(next(n for n in range(400) if monitor.step([0.3, 0.3, 0.2, 0.2]).alarm))
    assert delays[0] == delays[1]


def test_a_step_that_the_error_limit_withholds_says_so() -> None:
    params = bounded(4, 0.05, 1.0, "error", budget=0.0).replace(warmup=50)
    monitor, plain = Monitor(params), Monitor(params.replace(feedback=None))
    said = [monitor.step([0.55, 0.45]) for _ in range(60)]
    monitor.feedback(59, False)
    said += [monitor.step([0.55, 0.45]) for _ in range(60)]
    reasons = {step.reason for step in said if step.abstain}
    assert "error_limit" in reasons and None not in reasons
    assert {plain.step([0.55, 0.45]).reason for _ in range(120)} <= {"doubt", None}
    table = Monitor(params).run(np.full((60, 2), [0.55, 0.45]))
    assert [name or None for name in reason_names(table["reason"])] == [step.reason for step in said[:60]]


def test_a_label_never_lands_on_another_step() -> None:
    """While another thread steps, every label is for the step that it names, or refused."""
    params = PARAMS.replace(feedback=Feedback(memory=1024, max_error=0.1, reference=0.6))
    monitor, done = Monitor(params), threading.Event()
    rows = stream(1000)

    def steps() -> None:
        while not done.is_set():
            monitor.run(rows[:3])

    thread = threading.Thread(target=steps)
    monitor.step(rows[0])
    thread.start()
    try:
        told = {step for step in (monitor.steps - 1 for _ in range(4000)) if taken(monitor, step, True)}
    finally:
        done.set()
        thread.join()
    entries = np.frombuffer(monitor.save()[-2052:-4], "<u2")
    recent = range(max(0, monitor.steps - 1024), monitor.steps)
    assert {step for step in recent if entries[step % 1024] >> 15} == told & {*recent}
