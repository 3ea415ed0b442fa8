"""The audit with labels: it derives what the core did with them, and finds what was left out."""

from contextlib import suppress

import numpy as np
import pytest
from exported import SEEING
from refusals import refused
from streams import direct_params, dwell_stream, posterior_of

from tcuq import Alarm, AlarmSide, Feedback, FitOptions, InputError, Log, Monitor, Params, fit
from tcuq.audit.derive import audit
from tcuq.audit.replay import label_rows
from tcuq.cli import main


def told(params: Params, log: Log, seed: int, state: bytes | None = None) -> tuple:
    """Return what a monitor said of a log, and the labels that it was told."""
    rng, monitor, rows = np.random.default_rng(seed), Monitor(params), []
    if state is not None:
        monitor.load(state)
    first, found = monitor.steps, []
    for at in range(len(log)):
        if at and log.segments is not None and log.segments[at] != log.segments[at - 1]:
            monitor.reset()
        features = None if log.features is None else log.features[at : at + 1]
        gauges = None if log.gauges is None else log.gauges[at : at + 1]
        found.append(monitor.run(log.probs[at : at + 1], features, gauges=gauges))
        while rng.random() < 0.4:
            after = first + at
            step = max(0, after - int(rng.integers(0, 24)))
            label = int(rng.integers(-2, params.classes))
            with suppress(InputError):  # forgotten, or labeled already
                monitor.feedback(step, True if label == -2 else label)
            rows.append([after, step, label])
    return np.concatenate(found), rows, monitor


def fitted(hard: str) -> tuple[Params, Log]:
    probs, features, labels, marks = dwell_stream(1500, 5, 4, np.random.default_rng(1), shifted=True)
    log = Log(probs, features, labels, shifted=marks, segments=np.arange(1500) // 500)
    options = FitOptions(explain=False, max_error=0.1, feedback=7, hard=hard)
    return fit(log, run_length=300, options=options), log


@pytest.mark.parametrize("hard", ["error", "budget"])
def test_labels_are_derived_again_and_the_bound_is_certified(hard: str) -> None:
    params, log = fitted(hard)
    steps, rows, _ = told(params, log, 0)
    found = audit(steps, params, log, labels=rows)
    assert found.ok, found.text()
    told_of = {each.name for each in found.checks}
    assert {"errors", "alarm (rerun)", "abstain", "expected_accuracy (rerun)"} <= told_of
    assert ("budget" in told_of) == (hard == "budget")
    failed = {each.name for each in audit(steps, params, log).checks if not each.ok}
    assert {"abstain", "expected_accuracy (rerun)"} <= failed, (
        "without its labels it could not have said this"
    )


def test_an_alarm_that_sees_the_input_leaves_the_bound_certified() -> None:
    rng, count = np.random.default_rng(0), 1500
    params = SEEING.replace(warmup=0, bias=-1.0, feedback=Feedback(16, 0.1, 0.5))
    gauges = np.array(params.sight.means[:3]) + rng.normal(size=(count, 3)) * params.sight.deviations[:3]
    gauges[700:1000] += 40
    features = rng.integers(-90, 90, (count, 4)).astype(np.int8)
    log = Log(rng.dirichlet([0.4] * 5, count), features, gauges=gauges, gauge_names=params.sight.gauges)
    steps, rows, _ = told(params, log, 0)
    assert {0, 1} == {*steps["alarm"].tolist()}
    for given in (None, log):
        found = audit(steps, params, given, labels=rows)
        assert found.ok, found.text()
        checked = {each.name for each in found.checks}
        assert "action" in checked and ({"errors", "abstain"} <= checked) == (given is log)
        unknown = {"abstain", "errors"} <= {*found.unchecked}
        assert unknown == (given is None), "how sure an answer was, the input tells"
    steps["abstain"][1200] ^= True
    assert "abstain" in {each.name for each in audit(steps, params, log, labels=rows).checks if not each.ok}


def test_an_audit_goes_on_from_a_state_with_labels() -> None:
    params, log = fitted("error")
    _, _, monitor = told(params, log, 0)
    state = monitor.save()
    steps, rows, _ = told(params, log, 1, state)
    assert audit(steps, params, log, state, rows).ok


def test_the_alarm_on_risk_follows_labels_too() -> None:
    _, log = fitted("error")
    plain = fit(log, run_length=50, alarm="risk", options=FitOptions(explain=False, feedback=5))
    steps, rows, _ = told(plain, log, 3)
    assert audit(steps, plain, labels=rows).ok and not audit(steps, plain).ok
    with refused("conflict"):
        audit(steps, plain.replace(feedback=None), labels=rows)


def test_what_labels_of_withheld_steps_paid_for_is_said() -> None:
    """They lower the debt that is shown, so that it alone would promise too much."""
    params = Params(classes=2, warmup=0, bias=-9, blend=0, feedback=Feedback(4, 0.05, 0.9))
    monitor, steps, rows = Monitor(params), [], []
    for step in range(60):
        steps.append(monitor.run(np.array([[0.99, 0.01]])))
        right = bool(steps[-1]["abstain"][0])
        monitor.feedback(step, right)
        rows.append([step, step, -2 if right else -1])
    found = audit(np.concatenate(steps), params, labels=rows)
    [said] = [each.detail for each in found.checks if each.name == "errors"]
    assert found.ok and "labels of withheld steps have paid for " in said


def test_labels_speak_of_an_alarm_from_its_beginning_on() -> None:
    """A wrong answer before it does not weigh against right ones that come after: three withdraw it."""
    side, head = AlarmSide(allowance=0.1, limit=1.0, cap=2.0), Feedback(8, wrong_score=1.5, right_score=1.0)
    params = direct_params(warmup=0, alarm=Alarm(0.2, side), feedback=head)
    monitor, found, rows = Monitor(params), [], []
    for at, level in enumerate([250] * 3 + [140] * 10):
        found.append(monitor.run(posterior_of(level)[None]))
        if at == 2 or at >= 9:
            monitor.feedback(at, at >= 9)
            rows.append([at, at, -2 if at >= 9 else -1])
    steps = np.concatenate(found)
    assert np.flatnonzero(steps["alarm"]).tolist() == [9, 10, 11]
    assert audit(steps, params, labels=rows).ok


def test_labels_of_a_file(tmp_path, capsys) -> None:
    params = Params(classes=2, warmup=0, feedback=Feedback(4, 0.5, 0.9))
    params.save(tmp_path / "m.json")
    (tmp_path / "in.csv").write_text("p0,p1\n" + "0.9,0.1\n" * 6)
    assert (
        main(["run", str(tmp_path / "m.json"), str(tmp_path / "in.csv"), "-o", str(tmp_path / "d.csv")]) == 0
    )
    (tmp_path / "l.csv").write_text("after,step,label\n5,4,wrong\n5,3,1\n5,2,0\n")
    names = [str(tmp_path / name) for name in ("d.csv", "m.json")]
    assert main(["audit", *names, "--labels", str(tmp_path / "l.csv")]) == 0
    assert "at worst 0.5 errors beyond" in capsys.readouterr().out
    (tmp_path / "l.csv").write_text("after,step,label\n5,4,maybe\n")
    assert main(["audit", *names, "--labels", str(tmp_path / "l.csv")]) == 2
    assert "line 2 is not three numbers" in capsys.readouterr().err


def test_a_label_belongs_to_the_step_after_which_it_came() -> None:
    assert label_rows([[5, 5, 1], [7, 5, -2]], 5, 3, 2) == {0: [(0, 1)], 2: [(2, -2)]}
    for after, step, label in ((4, 4, 0), (8, 5, 0), (6, 7, 0), (6, 6, 2), (6, 6, -3)):
        with refused("value"):
            label_rows([[after, step, label]], 5, 3, 2)
