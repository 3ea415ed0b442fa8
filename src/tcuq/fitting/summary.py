"""What a fit with two heads chose and what it gains, in five plain lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..monitor.cost import cost
from ..monitor.params import Params


def five_lines(params: Params, found: Mapping[str, Any], steps: str) -> list[str]:
    """Return the lines.

    Parameters
    ----------
    params : Params
        From `fit`.
    found : mapping
        ``params.notes["fit"]``.
    steps : str
        The first line: what was read.
    """
    return [steps, *(say(params, found) for say in (_chosen, _gain, _alarm, _accuracy))]


def _chosen(params: Params, found: Mapping[str, Any]) -> str:
    price = cost(params)
    names = ", ".join(params.signals)
    # What is left of a profile when signals are dropped has no name.
    asked = found.get("profile")
    profile = f"profile {asked}" if asked else "own signals"
    inputs = f"posteriors and {params.features} features" if params.features else "posteriors alone"
    return (
        f"Chosen: {profile} ({names}) on {inputs}, about the {params.about}; {price.ram_bytes:,} bytes of "
        f"RAM and about {price.instructions:,} instructions a step."
    )


def _gain(params: Params, found: Mapping[str, Any]) -> str:
    if not found["labels"]:
        return (
            "Gain: unknown without labels. A log with labels, even a short one, would tell and would teach."
        )
    wrong = f"Wrong: {_share(found['prediction_errors'], found['steps'])} of the predictions"
    if params.about == "answer":
        wrong += f", {_share(found['errors'], found['steps'])} of the answers"
    rules = (found.get("rules") or {}).get("of")
    if not rules:
        return f"{wrong}."
    own = rules["monitor"]
    best = min((name for name in rules if name != "monitor"), key=lambda name: float(rules[name]["left"]))
    held = "kinds of shift" if found["rules"]["kinds"] else "parts of the log"
    text = (
        f"{wrong}. Of the surest {found['rules']['coverage']:.0%}, with {held} left out in turn: "
        f"{own['left']:.1%}; best simple rule, {best}: {rules[best]['left']:.1%}"
    )
    if best != "confidence":
        text += f"; confidence: {rules['confidence']['left']:.1%}"
    return f"{text}."


def _alarm(params: Params, found: Mapping[str, Any]) -> str:
    if params.alarm.rise is None and params.alarm.fall is None:
        return f"Alarm: none, as {found['clean_steps']:,} clean steps are too few to set one."
    what = "risk"
    if params.evidence is not None:
        names = ", ".join(params.evidence.coef)
        what = f"evidence from {names}, {_source(found['evidence'])}"
    proved = (found.get("evidence") or {}).get("proved")
    if proved:
        level = found["evidence"]["bet"]["level"]
        text = (
            f"Alarm: {what}; at most one false alarm in {proved:,} clean steps on average, proved as long as "
            f"the mean score given the past stays below {level:.2f}"
        )
    else:
        text = f"Alarm: {what}; set for one false alarm in {found['run_length']:,} clean steps"
    elsewhere = found.get("run_length_elsewhere")
    if elsewhere:
        times = elsewhere["false_alarms"]
        text += f"; {times} came in {elsewhere['steps']:,} held-out clean steps"
    return f"{text}."


def _source(evidence: Mapping[str, Any]) -> str:
    """Say what the evidence was made from and, where it is not learned, why."""
    if "from" not in evidence:
        return "learned from shifts"
    text = "as deviations from clean steps"
    scores = evidence.get("left_out")
    if scores:
        learned = max(score for name, score in scores.items() if name != "deviations")
        return (
            f"{text}, which find kinds of shift left out in turn better than learned evidence (AUROC "
            f"{scores['deviations']:.3f}, not {learned:.3f})"
        )
    return f"{text}, as {evidence['why']}" if "why" in evidence else text


def _accuracy(params: Params, found: Mapping[str, Any]) -> str:
    if not params.horizon:
        return "Expected accuracy: none without labels."
    text = f"Expected accuracy: over about {params.horizon} steps"
    measured = found["expected_accuracy"]
    if "error" not in measured:  # a fit without an explanation
        return f"{text}."
    error = measured["error"]
    if error is None:
        return f"{text}; how far off it is under a new shift is unknown, as fewer than two kinds are marked."
    return f"{text}; off by {error:.3f} on average over 200 steps, on kinds of shift left out in turn."


def _share(count: int, of: int) -> str:
    return f"{count / max(1, of):.1%}"
