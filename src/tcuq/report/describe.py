"""What a parameter file or a saved state holds, for people and for programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ..base.fixed import ONE
from ..fitting.words import errors_promised
from ..monitor.alarm import Alarm, AlarmSide, alarm_words
from ..monitor.cost import CONTEXT_BYTES, cost
from ..monitor.heads import EvidenceHead, Sight
from ..monitor.params import Params
from ..monitor.signals import DESCRIPTION, SLOW
from ..monitor.state import fingerprint, read_state


def bounds_in_words(params: Params, steps: int = 1000) -> list[str]:
    """Return what holds for every input, as sentences."""
    share = f"{float(Fraction(params.budget).limit_denominator(1000)):.6g}"
    # Rounded up, so that it is still a bound.
    bound = f"within {math.ceil(round(params.flag_bound(steps) * 1000, 9)) / 1000:.3f} of {params.level:.3f}"
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
        words.append(f"{errors_promised(params)}, whatever input and labels are")
    if params.level < params.budget:
        words.append(
            "the level is below the budget: flags are rarer than the budget allows, so it only shapes bursts"
        )
    return words


def alarm_in_words(alarm: Alarm, head: EvidenceHead | None = None, sight: Sight | None = None) -> list[str]:
    """Return when each side of the alarm is raised, as sentences."""
    if sight is not None and alarm.rise is not None:
        limit, clear, changed = alarm.rise.limit, alarm.rise.clear, sight.changed
        away = "the distance from clean data, 1 for its rarest percent,"
        return [
            f"raised when {away} is {limit:.4g} or more; in the first stays it takes more",
            f"raised when the input stands still{'' if sight.frozen else ': off'}",
            f"over when steps look like clean ones again, or below {clear:.4g}",
            f"a step says `changed` from {changed:.4g} on, and what moved most",
        ]

    def sentence(name: str, side: AlarmSide | None, where: str) -> str:
        if side is None:
            return f"{name}: off"
        ends = f"cleared at {side.clear:.4g}, never above {side.cap:.4g}"
        if head is not None:
            above = f" above {head.allowance:.4g}" if head.allowance else ""
            least = f" for at least {alarm.least_raised} steps" if alarm.least_raised else ""
            return f"{name}: raised{least} when evidence{above} adds up to {side.limit:.4g}, {ends}"
        return f"{name}: raised when risk {where} adds up to {side.limit:.4g} (risk x steps), {ends}"

    high = alarm.mean + (alarm.rise.allowance if alarm.rise else 0)
    low = alarm.mean - (alarm.fall.allowance if alarm.fall else 0)
    return [
        sentence("rise", alarm.rise, f"above {min(1.0, high):.4g}"),
        sentence("fall", alarm.fall, f"below {max(0.0, low):.4g}"),
    ]


def describe_params(params: Params) -> dict[str, Any]:
    """Return what a monitor with these parameters costs, watches and promises."""
    left_out = ("format", "version", "lag_weights", "coef", "clean_means", "centers", "notes", "checksum")
    stored = {name: value for name, value in params.to_dict().items() if name not in left_out}
    return {
        "kind": "params",
        **stored,
        "profile": params.profile,
        "fingerprint": f"{fingerprint(params):08x}",
        "lags": dict(zip(map(str, params.lags), params.lag_weights, strict=True)),
        "signals": [
            {
                "name": name,
                "coef": params.coef[name],
                "clean_mean": params.clean_means[name],
                "meaning": DESCRIPTION[name],
            }
            for name in params.signals
        ],
        "debt_bounds": list(params.debt_bounds),
        "cost": asdict(cost(params)),
        "bounds": bounds_in_words(params),
        "alarm": alarm_in_words(params.alarm, params.evidence, params.sight),
        "sight": _seen(params.sight),
    }


def _seen(sight: Sight | None) -> dict[str, Any] | None:
    """Return what the alarm looks at, without its tables."""
    if sight is None:
        return None
    numbers = zip(sight.numbers, sight.means, sight.deviations, strict=True)
    return {
        "numbers": [{"name": name, "mean": mean, "deviation": off} for name, mean, off in numbers],
        "gauges": list(sight.gauges),
        "changed": sight.changed,
        "baseline": sight.baseline,
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
        "degradation": state.degradation / ONE,
        "expected_accuracy": state.accuracy / 2**24,
        "alarm": alarm_words(state.alarm),
        "kept_steps": state.fill,
        "depth": state.depth,
    }


def render(content: dict[str, Any]) -> str:
    """Return a description for people."""
    features = f"{content['features']} features" if content["features"] else "posteriors only"
    if content["kind"] == "state":
        return _STATE.format(**content, inputs=features, listed=", ".join(content["signals"]))
    return _params_text(content, features)


_STATE = """\
saved state of {bytes:,} bytes, checksum right
monitor of {classes} classes, {inputs}, parameters {fingerprint}
signals    {listed}
steps      {steps:,}
debt       {debt_units:,} (in 1 / denominator of the level)
credit     {credit_units:,} (in 1 / denominator of the budget)
alarm      {alarm} (rise {rise:.3f}, fall {fall:.3f})
degradation   {degradation:.3f}
accuracy   {expected_accuracy:.3f} expected (0 where the parameters have no horizon)
past       {kept_steps} of {depth} steps kept"""


def _params_text(content: dict[str, Any], features: str) -> str:
    bill, names = content["cost"], content["names"]
    lags = ", ".join(f"{lag} (weight {weight:.3f})" for lag, weight in content["lags"].items()) or "none"
    operations = ", ".join(
        f"{bill[name]:,} {name.replace('_', ' ')}" for name in ("table_lookups", "multiplies", "divisions")
    )
    lines = [
        f"monitor of {content['classes']} classes, {features}, profile {content['profile']}",
        f"fingerprint {content['fingerprint']}",
        "",
        f"memory     {bill['ram_bytes']:,} bytes of RAM "
        f"({CONTEXT_BYTES} of context with 32-bit pointers, and the ring)",
        f"state      {bill['state_bytes']:,} bytes when saved",
        f"one step   about {bill['instructions']:,} instructions: {operations}",
        f"lags       {lags}",
    ]
    if content["features"]:
        scale, zero = content["feature_scale"], content["feature_zero_point"]
        lines.append(f"features   int8 of scale {scale:g} and zero point {zero}")
    if names is not None:
        shown = ", ".join(f"{number} {name}" for number, name in enumerate(names[:40]))
        lines.append(f"classes    {shown}{', ...' if len(names) > 40 else ''}")
    if content["instant"] is not None:
        lines.append(f"answers    persistence is learned; the risk is about the {content['about']}")
    if content["horizon"]:
        lines.append(f"accuracy   expected over about {content['horizon']:,} steps")
    lines += ["", "what holds", *(f"  {sentence}" for sentence in content["bounds"])]
    lines += ["", "alarm", *(f"  {sentence}" for sentence in content["alarm"])]
    lines += ["", f"signals (bias {content['bias']:+.3f})"]
    lines += [f"  {one['coef']:+8.3f}  {one['name']:14} {one['meaning']}" for one in content["signals"]]
    if (sight := content["sight"]) is not None:
        what = "gauges of the input and the outputs" if sight["gauges"] else "the outputs: no gauges"
        own = f", less the mean of a device's first {sight['baseline']}" if sight["baseline"] else ""
        lines += ["", f"what the alarm sees ({what}{own}), and clean mean and deviation"]
        lines += [f"  {n['mean']:10.4g} ± {n['deviation']:<9.3g} {n['name']}" for n in sight["numbers"]]
    instant, head = content["instant"], content["evidence"]
    if instant is not None:
        lines += ["", f"signals without a past (bias {instant['bias']:+.3f})"]
        lines += [f"  {value:+8.3f}  {name}" for name, value in instant["coef"].items() if value]
    if head is not None:
        low, high = min(head["offsets"]), max(head["offsets"])
        lines += ["", f"evidence (at most {head['clip']:.4g} per step, offsets {low:+.3f} to {high:+.3f})"]
        used = [(name in SLOW, f"  {value:+8.3f}  {name}") for name, value in head["coef"].items() if value]
        lines += [line for slow, line in used if not slow]
        lines += ["", f"what the alarm sums (bias {head['bias']:+.3f})"]
        lines += [line for slow, line in used if slow]
    return "\n".join(lines)
