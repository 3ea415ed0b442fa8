"""What a fit or a search found, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..monitor.cost import cost
from ..monitor.params import Params
from .summary import five_lines


def _note(warning: str) -> str:
    return f"Note: {warning}" if warning.endswith("?") else f"Note: {warning}."


def fit_findings(params: Params, details: bool = False) -> str:
    """Return what the fit found, for a person.

    Parameters
    ----------
    params : Params
        From `fit`.
    details : bool, default False
        Say also what each signal adds and what simple rules reach; with one head the former is always said.

    Returns
    -------
    str
        Several lines, as `tcuq fit` prints them.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log, fit
    >>> rng = np.random.default_rng(0)
    >>> log = Log.from_logits(rng.normal(0, 1, (400, 3)))
    >>> print(fit_findings(fit(log, run_length=100)).splitlines()[0])
    400 steps in 1 segment, all taken as clean: they set threshold and alarm.
    """
    found = params.notes.get("fit")
    if not found:
        return "These parameters carry no findings of a fit."
    alarmed = params.alarm.rise is not None or params.alarm.fall is not None
    lines = [_steps(found, "threshold and alarm" if alarmed else "the threshold")]
    notes = [_note(warning) for warning in found["warnings"]]
    if params.instant is not None:
        lines = five_lines(params, found, lines[0])
        return "\n".join([*lines, *(_details(params, found) if details else []), *notes])
    if found["labels"]:
        lines.append(
            f"{_count(found['errors'], 'error')}. AUROC of errors on this log: risk {found['auroc']:.3f}, "
            f"1 - max probability {found['auroc_confidence']:.3f}."
        )
    if found["labels"] and "signals" in found:
        lines += [*_time(found), *_signals(found)]
    if found["labels"] and abs(found["auroc_float"] - found["auroc_core"]) >= 0.0005:
        lines.append(
            f"Storing the weights in 16 bits changes the regression's loss of {found['loss']:.4f} by "
            f"{found['loss_from_quantization']:+.6f}, and the AUROC of uncertainty from "
            f"{found['auroc_float']:.4f} to {found['auroc_core']:.4f}."
        )
    if "mean_uncertainty" in found:
        lines.append(
            f"Uncertainty reads as a probability of error: on this log its mean is "
            f"{found['mean_uncertainty']:.4f}, the share of errors {found['errors'] / found['steps']:.4f}."
        )
    lines += _dropped(found.get("dropped"))
    lines.append(
        f"The threshold starts at {params.reference:.3f} and adapts, so that it flags {params.level:.1%} of "
        "the steps."
    )
    learned = found.get("evidence")
    if learned:
        lines.append(
            f"The alarm sums evidence, learned on {learned['degraded_steps']:,} degraded and "
            f"{learned['clean_steps']:,} clean steps; {learned['benign_steps']:,} steps of shifts that cost "
            f"no accuracy are left out. A degraded step adds {learned['mean_degraded']:+.3f} on average, a "
            f"clean one {learned['mean_clean']:+.3f}; AUROC {learned['auroc']:.3f} on these steps."
        )
    if alarmed:
        lines.append(_alarm(found))
    return "\n".join([*lines, *notes])


def _details(params: Params, found: Mapping[str, Any]) -> list[str]:
    """Say what each signal adds, and what simple rules reach."""
    lines = []
    if "signals" in found:
        lines += [*_time(found), *_signals(found)]
    rules = (found.get("rules") or {}).get("of")
    if rules:
        lines.append(
            f"{'rule':<22}{'wrong':>8}{'of the surest ' + format(found['rules']['coverage'], '.0%'):>24}"
        )
        lines += [f"{name:<22}{row['wrong']:>8.1%}{row['left']:>24.1%}" for name, row in rules.items()]
    return [*lines, *_dropped(found.get("dropped"))]


def _time(found: Mapping[str, Any]) -> list[str]:
    """Say whether time helps, and which steps show it."""
    lines = [found["time"]]
    if "explained_steps" in found:
        count = f"{found['explained_steps']:,} of the steps, drawn at random"
        lines.append(f"These figures and those of the table are from {count}.")
    return lines


def _signals(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{'signal':<15}{'coef':>9}{'clean mean':>12}{'alone':>8}{'adds':>9}   (held-out AUROC)"]
    for name, row in found["signals"].items():
        cells = [
            f"{row[k]:{f}}" if row[k] is not None else "-"
            for k, f in (("coef", "+.3f"), ("clean_mean", ".3f"), ("alone", ".3f"), ("adds", "+.4f"))
        ]
        lines.append(f"{name:<15}{cells[0]:>9}{cells[1]:>12}{cells[2]:>8}{cells[3]:>9}")
    return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _steps(found: Mapping[str, Any], what: str) -> str:
    """Say how many steps there are, and which of them set the threshold (and the alarm)."""
    used, marked = found["clean_steps"], found.get("clean_marked", found["clean_steps"])
    text = f"{_count(found['steps'], 'step')} in {_count(found['segments'], 'segment')}"
    source = found.get("clean_from", "log")
    if source == "all":
        return f"{text}, all taken as clean: they set {what}."
    if source == "clean log":
        text += f". The clean log has {_count(marked, 'step')}"
        text += " not marked as shifted" if used < marked else ""
    else:
        text += f", {marked:,} of them clean"
    if used == marked:
        return f"{text}; they set {what}."
    verb = "is" if marked - used == 1 else "are"
    return (
        f"{text}. Of these, {used:,} set {what}; the other {marked - used:,} {verb} left out, "
        "as the monitor still remembers a shift there."
    )


def _dropped(dropped: Mapping[str, Any] | None) -> list[str]:
    """Say which signals and features are not in the parameters, and what that saves."""
    if dropped is None:
        return []
    signals = ", ".join(dropped["signals"])
    what = [f"{'signal' if len(dropped['signals']) == 1 else 'signals'} {signals}"] if signals else []
    if dropped["features"]:
        what.append(_count(dropped["features"], "feature"))
    saved = f", which saves {dropped['ram_bytes']:,} bytes and about {dropped['instructions']:,} instructions"
    advice = "; call the monitor without features" if dropped["features"] else ""
    return [
        f"Dropped: {' and '.join(what)}, as no weight reads them"
        f"{f'{saved} a step' if dropped['ram_bytes'] or dropped['instructions'] else ''}{advice}."
    ]


def _alarm(found: Mapping[str, Any]) -> str:
    """Say how often the alarm should be wrong, and how often it was on held-out steps."""
    text = f"The alarm is set for one false alarm in {found['run_length']:,} clean steps"
    elsewhere = found.get("run_length_elsewhere")
    if not elsewhere:
        return f"{text}."
    times = elsewhere["false_alarms"]
    return (
        f"{text}. Check: set on half of the clean steps, it was raised {_count(times, 'time')} in "
        f"{elsewhere['steps']:,} steps of the other half, counted both ways."
    )


def tune_findings(params: Params) -> str:
    """Return what the search found, for a person.

    Parameters
    ----------
    params : Params
        From `tune`.

    Returns
    -------
    str
        Several lines, as `tcuq tune` prints them.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log, tune
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 60), 10)
    >>> logits = rng.normal(0, 1, (600, 3)) + 2.0 * np.eye(3)[truth]
    >>> log = Log.from_logits(logits, labels=truth, segments=np.arange(600) // 60)
    >>> params = tune(log, trials=1, run_length=100, explain=False)
    >>> print(tune_findings(params).splitlines()[0])
    1 setting tried, 1 of them within 1,024 bytes and 10,000 instructions a step.
    """
    found = params.notes.get("tune")
    if not found:
        return "These parameters carry no findings of a search."
    price = cost(params)
    lags = ", ".join(map(str, params.lags))
    profile = found.get("profile", params.profile)
    profile += "" if params.features else " on posteriors only"

    def shown(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.4f}"

    lines = [
        f"{_count(found['trials'], 'setting')} tried, {found['within_limits']:,} of them within "
        f"{found['max_bytes']:,} bytes and {found['max_instructions']:,} instructions a step.",
        f"Chosen: profile {profile}, lags {lags} weighted {found['weight_law']}, "
        f"doubt mix {params.doubt_mix:g}, blend {params.blend:.2f}, level {params.level:g}, window "
        f"{params.window}: {price.ram_bytes} bytes, about {price.instructions:,} instructions a step.",
        f"AUROC of errors on the {found['check_steps']:,} steps that no search saw, with "
        f"{_count(found['check_errors'], 'error')}: {shown(found['check_auroc'])}, default settings "
        f"{shown(found['check_auroc_default'])}.",
        *_standard(found),
    ]
    fitted = params.notes.get("fit") or {}
    lines += _dropped(fitted.get("dropped"))
    lines += [_note(warning) for warning in fitted.get("warnings", ())]
    return "\n".join(lines)


def _standard(found: Mapping[str, Any]) -> list[str]:
    """Say whether the standard profile, which `fit` alone gives, leaves fewer errors than what was chosen."""
    row = found.get("standard")
    if not row:
        return []
    better = row["left_standard"] < row["left"]
    small = row["ram_bytes"] <= found["max_bytes"] and row["instructions"] <= found["max_instructions"]
    text = (
        f"Of the surest {row['coverage']:.0%} of these steps {row['left']:.1%} are wrong; with the standard "
        f"profile ({row['ram_bytes']:,} bytes, about {row['instructions']:,} instructions) "
        f"{row['left_standard']:.1%}"
    )
    if not better:
        return [f"{text}: what was chosen is as good or better."]
    return [f"{text}: `tcuq.fit` alone is better{'' if small else ', beyond these limits'}."]
