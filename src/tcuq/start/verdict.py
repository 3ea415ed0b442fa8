"""The verdict on a monitor: four checks, each with a state, a reason and what to do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.spelling import option
from ..metrics import wilson
from ..report.summary import HARM, Check

FEW = 4  # harmful stretches below which an alarm may have been lucky
CLEARLY, WELL = 2, 5
"""How many times as much of harmful as of clean time an alarm must be on for, not to fail and to be good."""

MOST, GOOD = 0.75, 0.5
"""Share of the harmful stretches that a good alarm finds, and of their steps that it is on for."""

TIMES = 5  # as many false alarms as were asked for, from which on it is a failure
OFF, FAR = 0.10, 0.20
"""How far an expected accuracy may be off, and from where on it misleads."""

ALIKE = 0.01  # share of errors by which nobody would tell two rankings apart
WIDTH, NAME = 90, 19

REAL = "record your device, with its faults, and run this again on that stream"
"""What to do about an alarm that does not find generic shifts; more examples rarely help
(`tools/start_sizes.py`)."""

FORCED = "check the order of the classes, the range of the inputs and the labels"
DONE = "open report.html, then build firmware/ and call the monitor after each inference"


def checks(facts: Mapping[str, Any]) -> list[Check]:
    """Return the four checks of a monitor, from what `judge` measured."""
    found = [_answers(facts), _alarm(facts), _false_alarms(facts), _expected(facts)]
    # Without labels the figures of the field come first.
    return found if "gain" in facts else [found[3], *found[1:3], found[0]]


def overall(found: Sequence[Check], forced: str | None = None) -> Check:
    """Return the whole verdict: its worst check decides, but for what is still open."""
    if forced:
        return Check("verdict", "FAIL", f"do not use this monitor: {forced}", FORCED)
    states = [each.state for each in found]
    state = next((each for each in ("FAIL", "WEAK", "OK") if each in states), "OPEN")
    worst = [each for each in found if each.state == state]
    if state == "OK":
        still = [each.name for each in found if each.state == "OPEN"]
        return Check("verdict", state, f"usable{f'; open: {_listed(still)}' if still else ''}", DONE)
    words = {"FAIL": "do not rely on the", "WEAK": "usable, with weak", "OPEN": "too few steps to judge"}[
        state
    ]
    return Check("verdict", state, f"{words} {_listed([each.name for each in worst])}", worst[0].todo)


def lines(found: Sequence[Check], whole: Check) -> list[str]:
    """Return the verdict as text, what to do next first."""
    text = textwrap.wrap(f"Next: {whole.todo}.", WIDTH, subsequent_indent=" " * 6)
    text += textwrap.wrap(f"{whole.state:<6}{whole.why}", WIDTH, subsequent_indent=" " * 6)
    for each in found:
        first, rest = f"  {each.state:<6}{each.name:<{NAME}}", " " * (8 + NAME)
        text += textwrap.wrap(each.why, WIDTH, initial_indent=first, subsequent_indent=rest)
        if each.state != "OK" and each.todo != whole.todo:
            text.append(f"{rest}-> {each.todo}")
    return text


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]


def percent(share: float) -> str:
    """Return a share that the user chose, or a rate in a table of rates, as exactly as it is known."""
    return f"{100 * share:.6g}%"


def _answers(facts: Mapping[str, Any]) -> Check:
    name, rather = "answers", "ask by confidence instead; the alarm is a check of its own"
    if "gain" not in facts:
        return Check(name, "OPEN", "only labels tell whether it ranks errors better", "label some steps")
    if facts["wrong_model"] == facts["wrong_answers"] == 0:
        return Check(name, "OPEN", "no answer is wrong on these steps", "test on harder examples")
    rivals = {"confidence": facts["sure_by_confidence"], **facts["sure_by_rules"]}
    best = min(rivals, key=lambda rule: float(rivals[rule]))
    shown = {"tcuq": facts["sure_by_monitor"], "confidence": rivals["confidence"], best: rivals[best]}
    figures = ", ".join(f"{rule} {100 * wrong:.1f}" for rule, wrong in shown.items())
    why = f"% wrong of the {percent(1 - facts['budget'])} most trusted: {figures}"
    low, high = facts["gain_low"], facts["gain_high"]
    if low is None:
        return Check(name, "OPEN", f"{why}; too few steps to tell", f"test on {5 * facts['block']:,} or more")
    if low > 0:
        return Check(name, "FAIL", f"{why}; worse than confidence", rather)
    if high >= 0:  # the interval holds "as good as confidence"
        if -low < ALIKE:
            return Check(name, "WEAK", f"{why}; no better than confidence", rather)
        least, most = sorted((round(-100 * low, 1), round(-100 * high, 1) + 0.0))
        span = f"; {least:g} to {most:g} points better than confidence"
        return Check(name, "OPEN", why + span, "test on more steps")
    if rivals[best] <= facts["sure_by_monitor"]:
        return Check(name, "WEAK", why, f"a {best} does as well: use it unless you need the alarm")
    return Check(name, "OK", why, "")


def _alarm(facts: Mapping[str, Any]) -> Check:
    name = "alarm"
    if not facts["has_alarm"]:
        return Check(name, "FAIL", "there is none: too few clean steps to set one", "pass more examples")
    what = "harmful" if "gain" in facts else "shifted"
    if "harmful" not in facts:
        why = f"on hold for {facts['alarm_on']:.1%} of the steps; no faults are marked"
        return Check(name, "OPEN", why, f"mark faults with {option('shifts')} or an array `shifted`")
    hit, of, before = facts["harmful_found"], facts["harmful"], facts["harmful_on_before"]
    on, calm, unseen = facts["alarm_on_harmful"], facts["alarm_on_clean"], facts.get("left_out") or {}
    if on is None:
        return Check(
            name, "OPEN", f"no {what} stretch to find in the test part", f"test with {option('shifts')}"
        )
    why = f"found {hit} of {of} {what} stretches"
    if before:
        why += f" ({before} more began on hold)"
    if facts["harmful_delay"] is not None:
        why += f", after {facts['harmful_delay']:.0f} steps"
    why += f"; on hold for {on:.0%} of their steps" + (
        f", {calm:.0%} of clean ones" if calm is not None else ""
    )
    if 2 * hit < of or on < CLEARLY * (calm or 0):
        return Check(name, "FAIL", why, REAL)
    # An alarm that is on about as often while all is well finds shifts by chance.
    if unseen and (
        2 * unseen["found"] < unseen["kinds"] or unseen["on_shifted"] < CLEARLY * unseen["on_clean"]
    ):
        why = f"in the fit it found {unseen['found']} of {unseen['kinds']} harmful types; on hold for "
        why += f"{unseen['on_shifted']:.0%} of their steps, {unseen['on_clean']:.0%} of clean ones"
        return Check(name, "FAIL", why, REAL)
    if of < FEW:
        return Check(name, "OPEN", f"{why}: too few to tell", REAL)
    weak = hit < MOST * of or on < GOOD or on < WELL * (calm or 0)
    return Check(name, "WEAK" if weak else "OK", why, REAL if weak else "")


def _false_alarms(facts: Mapping[str, Any]) -> Check:
    name, length = "false alarms", facts.get("run_length")
    if not facts["has_alarm"]:
        return Check(name, "OPEN", "there is no alarm", "pass more examples")
    clean, false = facts.get("clean_steps", 0), facts.get("false_alarms", 0)
    if not clean or not length:
        return Check(name, "OPEN", "no steps are marked as clean", "mark them with an array `shifted`")
    why = f"{false:,} in {clean:,} clean steps; asked for 1 in {length:,}"
    if facts.get("harmless_alarms"):
        why += f"; {facts['harmless_alarms']} more at faults that cost nothing"
    least = wilson(false, clean)[0] * length
    if false > 1 and least > 1:  # one may be chance
        rarer = f"{option('run_length', 10 * length)}, or fit on more clean steps"
        return Check(name, "FAIL" if least > TIMES else "WEAK", f"{why}, so more come", f"try {rarer}")
    if clean < length:
        return Check(name, "OPEN", why, f"needs {length:,} clean steps: tcuq run monitor.json LOG")
    return Check(name, "OK", why, "")


def _expected(facts: Mapping[str, Any]) -> Check:
    name = "expected accuracy"
    if "expected_accuracy" not in facts:
        return Check(name, "OPEN", "no accuracy is expected without a labeled fit", "fit with labels")
    if "expected_off" not in facts:
        mean, least = facts["expected_accuracy"], facts["expected_least"]
        why = f"{mean:.0%} on average, {least:.0%} in the worst 200 steps"
        return Check(name, "OPEN", why, "label some steps to check it")
    off, beside = facts["expected_off"], facts["expected_off_confidence"]
    why = f"{facts['expected_accuracy']:.0%}, really right {facts['accuracy']:.0%}; "
    why += f"off by {100 * off:.0f} points over 200 steps, mean confidence by {100 * beside:.0f}"
    fit = facts.get("fit_accuracy") or {}
    error, nearer = fit.get("error"), off > beside
    rivals = [each for each in (fit.get("error_confidence"), fit.get("error_atc")) if each is not None]
    if error is not None and rivals:
        why += f"; on unseen types by {100 * error:.0f}, confidence or ATC by {100 * min(rivals):.0f}"
        nearer |= min(rivals) + HARM < error
    todo = "read expected accuracy as better or worse, not as a percentage"
    if off > FAR or off > beside + HARM:
        return Check(name, "FAIL", why, "do not show the expected accuracy to anyone")
    return Check(name, "WEAK" if off > OFF or nearer else "OK", why, todo if off > OFF or nearer else "")
