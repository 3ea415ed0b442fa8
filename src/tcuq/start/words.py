"""What came out, in about ten lines for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HARM = 0.05
"""Share of wrong predictions above that of clean steps from which on a kind of shift is harmful."""


def summary(found: Mapping[str, Any]) -> list[str]:
    """Return the result as lines; honest where the monitor adds nothing."""
    rows = [
        ("Verdict", verdict(found)),
        ("Answers", answers_words(found)),
        ("Fitted on", f"{found['fit_steps']:,} steps{_kinds(found, 'fit_kinds')}"),
        ("Judged on", f"{found['steps']:,} {_others(found)}{_kinds(found, 'judge_kinds')}"),
    ]
    rows += _errors(found) if "wrong_model" in found else [("Wrong answers", "unknown without labels")]
    rows.append(("Abstains", f"on {found['abstained']:.1%} of the steps (budget {share(found['budget'])})"))
    rows.append(("Alarm", alarm_words(found)))
    kinds = {name: row for name, row in (found.get("by_kind") or {}).items() if row.get("shifts")}
    if found["has_alarm"] and len(kinds) > 1:
        told = (f"{name} {row['shifts_alarmed']} of {row['shifts']}" for name, row in kinds.items())
        rows.append(("  by kind", ", ".join(told)))
    left_out = (found.get("left_out") or {}).get("by_kind")
    if left_out:
        told = (f"{name} {row['found']} of {row['stretches']}" for name, row in left_out.items())
        rows.append(("  left out in turn", f"{', '.join(told)} (stretches of the fit)"))
    if found.get("alarm_on_shifted") or found.get("alarm_on_clean"):
        rows.append(("  on during", _during(found)))
    if "expected_off" in found:
        mean = f"{found['expected_accuracy']:.1%} on average (true: {found['accuracy']:.1%})"
        off = f"off by {100 * found['expected_off']:.1f} points on average over 200 steps"
        rows.append(("Expected accuracy", f"{mean}; {off}"))
    width = max(len(name) for name, _ in rows) + 2
    return [f"{name:<{width}}{text}" for name, text in rows]


def share(part: float) -> str:
    """Return a share that the user chose in percent, as exactly as it was chosen."""
    return f"{100 * part:.6g}%"


def _during(found: Mapping[str, Any]) -> str:
    shifted, clean = found["alarm_on_shifted"], found["alarm_on_clean"]
    parts = [] if shifted is None else [f"{shifted:.0%} of shifted steps"]
    if clean is not None:
        before = "raised before them; " * (bool(parts) and clean > 0 and not found["false_alarms"])
        parts.append(f"{clean:.0%} of clean {'ones' if parts else 'steps'} ({before}it takes time to clear)")
    return ", ".join(parts)


def _kinds(found: Mapping[str, Any], key: str) -> str:
    names: Sequence[str] = found[key]
    return f", shifts: {', '.join(names)}" if names else ""


def _others(found: Mapping[str, Any]) -> str:
    return "steps of other examples" if found["made"] else "later steps of your stream"


def _errors(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    kept = share(1 - found["budget"])
    wrong = f"{found['wrong_model']:.1%} without the monitor, {found['wrong_answers']:.1%} with its answers"
    sure = f"{found['sure_by_confidence']:.1%} by confidence, {found['sure_by_monitor']:.1%} by the monitor"
    rows = [("Wrong answers", wrong), (f"  of the surest {kept}", sure)]
    if found["auroc_confidence"] is not None and found["auroc_monitor"] is not None:
        scores = f"confidence {found['auroc_confidence']:.3f}, monitor {found['auroc_monitor']:.3f}"
        rows.append(("Ranks errors", f"AUROC: {scores}"))
    return rows


def alarm_words(found: Mapping[str, Any]) -> str:
    """Say when the alarm came and when it should not have come."""
    if not found["has_alarm"]:
        return "none: too few clean steps to set one; pass more examples"
    if "shifts" not in found:
        return f"on during {found['alarm_on']:.1%} of the steps; how many of them are shifted is not marked"
    times = f"{found['false_alarms']} false alarm{'s' * (found['false_alarms'] != 1)}"
    false = f"{times} in {found['clean_steps']:,} clean steps"
    if not found["shifts"] and not found["shifts_already_raised"]:
        return f"{false}; no shifts to detect"
    text = f"raised in {found['shifts_alarmed']} of {found['shifts']} shifted stretches"
    if found["delay_median"] is not None:
        text += f", after {found['delay_median']:g} steps (median)"
    if found["shifts_already_raised"]:
        text += f", still on from before in {found['shifts_already_raised']} more"
    return f"{text}; {false}"


def verdict(found: Mapping[str, Any]) -> str:
    """Say what the alarm finds of shifts that it has not seen, how far off accuracy is, and of answers."""
    if found.get("label_note"):
        return f"DO NOT USE THIS MONITOR, written because it was forced: {found['label_note']}"
    accuracy = _accuracy_verdict(found.get("fit_accuracy") or {}, found.get("expected_off"))
    answers = f"answers {answers_words(found).partition(':')[0]}"
    return "; ".join(filter(None, [_alarm_verdict(found), accuracy, answers]))


def _alarm_verdict(found: Mapping[str, Any]) -> str:
    if not found["has_alarm"]:
        return "there is no alarm: too few clean steps to set one"
    parts, told = [], found.get("left_out")
    if told:
        delay = "" if told["delay"] is None else f"median delay {told['delay']:.0f} steps, "
        on = f"{told['on_shifted']:.0%} of harmful and {told['on_clean']:.0%} of clean time"
        kinds = f"{told['found']} of {told['kinds']} kinds of shift left out in turn"
        parts.append(f"{kinds} ({delay}on for {on})")
    hit, of = _harmful(found)
    if of:
        parts.append(f"{hit} of {of} harmful stretches of the judged part")
    if not parts:
        return "whether the alarm finds shifts is open: no harmful ones are marked"
    said = f"found {' and '.join(parts)}"
    missed = 2 * hit < of
    if told:  # an alarm that is on about as often while all is well finds shifts by chance
        missed |= 2 * told["found"] < told["kinds"] or told["on_shifted"] < 2 * told["on_clean"]
    return f"DO NOT RELY ON THE ALARM: it {said}" if missed else f"the alarm {said}"


def _harmful(found: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many judged stretches were found, and how many there are, of kinds that cost accuracy."""
    rows: Mapping[str, Mapping[str, Any]] = found.get("by_kind") or {}
    clean = (rows.get("clean") or {}).get("wrong_model")
    kinds = [row for row in rows.values() if row.get("shifts")]
    kinds = [row for row in kinds if clean is None or row["wrong_model"] >= clean + HARM]
    return sum(row["shifts_alarmed"] for row in kinds), sum(row["shifts"] for row in kinds)


def _accuracy_verdict(fit: Mapping[str, Any], judged: float | None) -> str:
    if fit.get("error") is None:
        return ""
    others = {"mean confidence": fit.get("error_confidence"), "ATC": fit.get("error_atc")}
    known = {name: error for name, error in others.items() if error is not None}
    beside = ", ".join(f"{name} {100 * error:.1f}" for name, error in known.items())
    nearer = " and ".join(name for name, error in known.items() if error < fit["error"])
    beside += f"; nearer: {nearer}" if nearer else ""
    also = "" if judged is None else f" and by {100 * judged:.1f} in the judged part"
    said = f"expected accuracy is off by {100 * fit['error']:.1f} points on kinds left out"
    return f"{said}{f' ({beside})' if beside else ''}{also}"


def answers_words(found: Mapping[str, Any]) -> str:
    """Say whether answers and abstentions are worth it, as far as these steps can tell."""
    if "gain" not in found:
        return "open: only labels can tell whether the monitor ranks errors better than confidence"
    if found["wrong_model"] == found["wrong_answers"] == 0:
        return "open: there is no wrong answer on these steps to tell the monitor from confidence"
    if found["gain_low"] is None:
        few = f"{found['steps']:,} steps are too few blocks of {found['block']:,}"
        return f"open: a class may stay for long, and {few} to tell the monitor from confidence"
    kept, points = (share(1 - found["budget"]), [_points(-found[each]) for each in ("gain_high", "gain_low")])
    interval = f"95% interval {min(map(abs, points)):.1f} to {max(map(abs, points)):.1f}"
    if found["gain_high"] < 0:
        fewer = f"{-100 * found['gain']:.1f} points fewer errors among the surest {kept}"
        return f"better than confidence: {fewer} ({interval})"
    if found["gain_low"] > 0:
        more = f"{100 * found['gain']:.1f} points more errors among the surest {kept}"
        return f"WORSE than confidence: {more} ({interval}); use the alarm, and confidence to abstain"
    interval = f"95% interval {_fewer(points[0])} to {_fewer(points[1])}"
    gained = f"{_fewer(_points(-found['gain']))} errors among the surest {kept} ({interval})"
    return f"undecided, too close to confidence to tell: {gained}"


def _fewer(points: float) -> str:
    """Return a difference of errors in words."""
    return f"{abs(points):.1f} points {'more' if points < 0 else 'fewer'}" if points else "as many"


def _points(share: float) -> float:
    """Return a share in percent, rounded as it is shown, and never as -0.0."""
    return round(100 * share, 1) + 0.0
