"""What a parameter file or a saved state holds, for people and for programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ..base.fixed import ONE
from ..monitor.alarm import Alarm, AlarmSide, alarm_words
from ..monitor.cost import CONTEXT_BYTES, cost
from ..monitor.evidence_head import EvidenceHead
from ..monitor.params import Params
from ..monitor.signals import DESCRIPTION, SLOW
from ..monitor.state import fingerprint, read_state


def _up(value: float) -> str:
    """Return an upper bound with three decimals that is still one."""
    return f"{math.ceil(round(value * 1000, 9)) / 1000:.3f}"


def _share(value: float) -> str:
    return f"{float(Fraction(value).limit_denominator(1000)):.6g}"


def bounds_in_words(params: Params, steps: int = 1000) -> list[str]:
    """Return what holds for every input, as sentences."""
    share = _share(params.budget)
    bound = f"within {_up(params.flag_bound(steps))} of {params.level:.3f}"
    words = [
        f"after {steps:,} steps the flag rate is {bound}, whatever the input",
        f"at most {params.burst} + {share} n abstentions in any n steps, "
        f"and at most {share} t in the first t, whatever the input",
    ]
    head = params.feedback
    if head is not None and head.above_budget:
        words[1] = "abstentions of doubtful steps may exceed the budget: max_error comes first"
    elif params.budget == 0:
        words[1] = "no step is ever abstained on: the budget is 0"
    elif params.warmup:
        words.append(f"no abstention in the first {params.warmup:,} steps")
    if head is not None and head.max_error is not None:
        words.append(
            f"of accepted steps that get a label within {head.memory} steps, at most {head.max_error:g} of "
            f"the labels + {params.error_constant:.1f} are wrong, whatever input and labels are"
            + ("" if head.above_budget else ", but for doubtful ones that the budget no longer held back")
        )
    if params.level < params.budget:
        words.append(
            "the level is below the budget: flags are rarer than the budget allows, so it only shapes bursts"
        )
    return words


def alarm_in_words(alarm: Alarm, head: EvidenceHead | None = None) -> list[str]:
    """Return when each side of the alarm is raised, as sentences.

    Examples
    --------
    >>> for sentence in alarm_in_words(Alarm(mean=0.25, rise=AlarmSide(0.125, limit=4, cap=8))):
    ...     print(sentence)
    rise: raised when risk above 0.375 adds up to 4 (risk x steps), cleared at 0, never above 8
    fall: off
    """

    def sentence(name: str, side: AlarmSide | None, where: str) -> str:
        if side is None:
            return f"{name}: off"
        ends = f"cleared at {side.clear:.4g}, never above {side.cap:.4g}"
        if head is not None:
            above = f" above {head.allowance:.4g}" if head.allowance else ""
            held = f" for at least {alarm.hold} steps" if alarm.hold else ""
            return f"{name}: raised{held} when evidence{above} adds up to {side.limit:.4g}, {ends}"
        return f"{name}: raised when risk {where} adds up to {side.limit:.4g} (risk x steps), {ends}"

    high = alarm.mean + (alarm.rise.allowance if alarm.rise else 0)
    low = alarm.mean - (alarm.fall.allowance if alarm.fall else 0)
    return [
        sentence("rise", alarm.rise, f"above {min(1.0, high):.4g}"),
        sentence("fall", alarm.fall, f"below {max(0.0, low):.4g}"),
    ]


def describe_params(params: Params) -> dict[str, Any]:
    """Return what a monitor with these parameters costs, watches and promises."""
    low, high = params.debt_bounds
    return {
        "kind": "params",
        "classes": params.classes,
        "features": params.features,
        "feature_scale": params.feature_scale,
        "feature_zero_point": params.feature_zero_point,
        "profile": params.profile,
        "fingerprint": f"{fingerprint(params):08x}",
        "lags": dict(zip(map(str, params.lags), params.lag_weights, strict=True)),
        "warmup": params.warmup,
        "blend": params.blend,
        "anchor": params.anchor,
        "about": params.about,
        "horizon": params.horizon,
        "names": None if params.names is None else list(params.names),
        "doubt_mix": params.doubt_mix,
        "bias": params.bias,
        "signals": [
            {
                "name": name,
                "coef": params.coef[name],
                "clean_mean": params.clean_means[name],
                "meaning": DESCRIPTION[name],
            }
            for name in params.signals
        ],
        "level": params.level,
        "budget": params.budget,
        "burst": params.burst,
        "debt_bounds": [low, high],
        "cost": asdict(cost(params)),
        "bounds": bounds_in_words(params),
        "alarm": alarm_in_words(params.alarm, params.evidence),
        "evidence": None if params.evidence is None else params.evidence.to_dict(),
        "instant": None if params.instant is None else params.instant.to_dict(),
    }


def describe_state(content: bytes) -> dict[str, Any]:
    """Return what a saved state says about the past."""
    state = read_state(content)
    return {
        "kind": "state",
        "bytes": state.size,
        "classes": state.classes,
        "features": state.features,
        "signals": list(state.signals),
        "fingerprint": f"{state.fingerprint:08x}",
        "steps": state.steps,
        "debt_units": state.debt,
        "credit_units": state.credit,
        "rise": state.rise / ONE,
        "fall": state.fall / ONE,
        "severity": state.severity / ONE,
        "expected_accuracy": state.accuracy / 2**24,
        "alarm": alarm_words(state.alarm),
        "kept_steps": state.fill,
        "depth": state.depth,
    }


def render(found: dict[str, Any]) -> str:
    """Return a description for people."""
    return _render_state(found) if found["kind"] == "state" else _render_params(found)


def _features(found: dict[str, Any]) -> list[str]:
    """Return the line on the features, which a device must give in this scale; none without features."""
    if not found["features"]:
        return []
    return [
        f"features   int8 of scale {found['feature_scale']:g} and zero point {found['feature_zero_point']}"
    ]


def _speaks(found: dict[str, Any]) -> list[str]:
    """Return the lines on classes: their names, what the risk is about, the expected accuracy."""
    lines = []
    if found["names"] is not None:
        shown = ", ".join(f"{number} {name}" for number, name in enumerate(found["names"][:40]))
        lines.append(f"classes    {shown}{', ...' if len(found['names']) > 40 else ''}")
    if found["instant"] is not None:
        lines.append(f"answers    persistence is learned; the risk is about the {found['about']}")
    if found["horizon"]:
        lines.append(f"accuracy   expected over about {found['horizon']:,} steps")
    return lines


def _render_params(found: dict[str, Any]) -> str:
    features = f"{found['features']} features" if found["features"] else "posteriors only"
    lags = ", ".join(f"{lag} (weight {weight:.3f})" for lag, weight in found["lags"].items()) or "none"
    bill = dict(found["cost"])
    operations = ", ".join(
        f"{bill[name]:,} {name.replace('_', ' ')}" for name in ("table_lookups", "multiplies", "divisions")
    )
    lines = [
        f"monitor of {found['classes']} classes, {features}, profile {found['profile']}",
        f"fingerprint {found['fingerprint']}",
        "",
        f"memory     {bill['ram_bytes']:,} bytes of RAM "
        f"({CONTEXT_BYTES} of context with 32-bit pointers, and the ring)",
        f"state      {bill['state_bytes']:,} bytes when saved",
        f"one step   about {bill['instructions']:,} instructions: {operations}",
        f"lags       {lags}",
        *_features(found),
        *_speaks(found),
        "",
        "what holds",
        *(f"  {sentence}" for sentence in found["bounds"]),
        "",
        "alarm",
        *(f"  {sentence}" for sentence in found["alarm"]),
        "",
        f"signals (bias {found['bias']:+.3f})",
    ]
    for signal in found["signals"]:
        lines.append(f"  {signal['coef']:+8.3f}  {signal['name']:14} {signal['meaning']}")
    instant = found["instant"]
    if instant is not None:
        lines += ["", f"signals without a past (bias {instant['bias']:+.3f})"]
        lines += [f"  {value:+8.3f}  {name}" for name, value in instant["coef"].items() if value]
    head = found["evidence"]
    if head is not None:
        low, high = min(head["offsets"]), max(head["offsets"])
        lines += ["", f"evidence (at most {head['clip']:.4g} a step, offsets {low:+.3f} to {high:+.3f})"]
        used = [(name in SLOW, f"  {value:+8.3f}  {name}") for name, value in head["coef"].items() if value]
        lines += [line for slow, line in used if not slow]
        lines += ["", f"what the alarm sums (bias {head['bias']:+.3f})"]
        lines += [line for slow, line in used if slow]
    return "\n".join(lines)


def _render_state(found: dict[str, Any]) -> str:
    features = f"{found['features']} features" if found["features"] else "posteriors only"
    return "\n".join(
        [
            f"saved state of {found['bytes']:,} bytes, checksum right",
            f"monitor of {found['classes']} classes, {features}, parameters {found['fingerprint']}",
            f"signals    {', '.join(found['signals'])}",
            f"steps      {found['steps']:,}",
            f"debt       {found['debt_units']:,} (in 1 / denominator of the level)",
            f"credit     {found['credit_units']:,} (in 1 / denominator of the budget)",
            f"alarm      {found['alarm']} (rise {found['rise']:.3f}, fall {found['fall']:.3f})",
            f"severity   {found['severity']:.3f}",
            f"accuracy   {found['expected_accuracy']:.3f} expected (0 where the parameters have no horizon)",
            f"past       {found['kept_steps']} of {found['depth']} steps kept",
        ]
    )
