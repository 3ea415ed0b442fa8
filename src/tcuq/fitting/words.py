"""What a fit found, in words: a few lines about parameters, and a sentence for each finding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.spelling import option
from ..labels.accuracy import DEVIATIONS
from ..monitor.cost import cost

if TYPE_CHECKING:
    from ..monitor.params import Params

Finding = Mapping[str, Any] | str

_COSTS = "{signal} costs {loss:.3f} of AUROC on held-out steps: what it learned does not carry over; "

SENTENCES = {
    "one_prediction": "every prediction is class {label}: the log says nothing about the other classes, nor "
    "about changes between them",
    "level_below_budget": "the monitor flags {level:.0%} of the steps but may abstain on {budget:.0%}, so "
    "the budget only limits bursts; {tied} makes them equal",
    "nothing_marked": "no steps are marked as clean: the whole log sets threshold and alarm; if it holds "
    "degraded stretches, mark them with `shifted`, or pass a clean log with {clean_log}",
    "answers_do_harm": "answers are wrong on {answers:.1%} of this log, predictions on {predictions:.1%}: "
    "the monitor's answer is therefore the prediction, and past steps can only help to rank its errors",
    "no_labels": "the log has no labels: uncertainty is one minus the top posterior on uncorrelated streams "
    "and one minus the belief on correlated ones, so it is only as calibrated as the classifier",
    "stock_coefficients": "the log has no labels: stock coefficients are used, which know nothing of this "
    "classifier",
    "stock_coefficients_own_limits": "the log has no labels: stock coefficients are used, which know "
    "nothing of this classifier; threshold and alarm are from the log itself",
    "stock_heads_win": "on kinds of shift that were left out, the uncertainty learned from labels leaves "
    "{learned:.1%} wrong of the surest {share:.0%}, that of a fit without labels {stock:.1%}: the latter is "
    "used",
    "regrouped": "classes hardly stay in the log: what steps with a past look like was learned from its own "
    "steps, put in an order in which they do",
    "coefficient_at_limit": "coefficient of {signal} is held at {value:.0f}, the most that the core stores; "
    "the others are fitted to that, so there is nothing to do",
    "labels_missing": "labels are missing",
    "marks_missing": "no step is marked as shifted",
    "signals_missing": "none of the signals {signals} is in use",
    "few_degraded": "the alarm bets on deviations from clean steps: evidence cannot be learned: the log has "
    "{clean} clean steps and {degraded} of shifts that cost accuracy; at least {fewest} of each are needed",
    "no_alarm": "no alarm is set: {steps} clean steps are too few, {fewest} are needed",
    "few_clean": "{steps:,} clean steps are too few to check one false alarm in {run_length:,} ({enough:,} "
    "would do): several times as many may come",
    "error_out_of_reach": "{max_error} is out of reach: even of the surest {share:.0%} of the log's answers "
    "{wrong:.1%} are wrong; a larger one is needed",
    "signal_harms": f"{_COSTS}the standard profile may do better",
    "features_harm": f"{_COSTS}leave the features out with {{bare}}",
}
"""A sentence for each code; options are spelled for whoever reads it."""


def said(finding: Finding) -> str:
    """Return a finding as a sentence, without its full stop."""
    if isinstance(finding, str):
        return finding
    spelled = {
        "tied": option("level", "budget"),
        "clean_log": option("clean"),
        "bare": option("use_features", False),
        "max_error": option("max_error", finding.get("max_error")),
    }
    sentence = SENTENCES.get(finding["code"])
    return f"{dict(finding)}" if sentence is None else sentence.format_map({**finding, **spelled})


def notes_of(params: Params) -> list[str]:
    """Return what the fit of some parameters wants known, a sentence each.

    Parameters
    ----------
    params : Params

    Examples
    --------
    >>> from tcuq import Params
    >>> notes_of(Params(classes=2, notes={"fit": {"warnings": [{"code": "labels_missing"}]}}))
    ['labels are missing']
    """
    fitted = params.notes.get("fit")
    return [said(each) for each in fitted["warnings"]] if isinstance(fitted, Mapping) else []


def in_words(params: Params, details: bool = False) -> str:
    """Return a few lines about parameters; of a fit, with what it found."""
    fitted = params.notes.get("fit")
    if not isinstance(fitted, Mapping):
        summed = "evidence" if params.evidence else "distance" if params.sight else "risk"
        alarm = f"Alarm: {summed if _has_alarm(params) else 'none'}."
        return "\n".join([_chosen(params, params.profile), _abstains(params), alarm])
    lines = [
        _steps(params, fitted),
        _chosen(params, fitted.get("profile")),
        _gain(params, fitted),
        _abstains(params),
        *_errors(params, fitted),
        *(_found(fitted.get("left_out")) if _has_alarm(params) else []),
        _alarm(params, fitted),
        *_accuracy(params, fitted),
        *(_details(fitted) if details else []),
        *_dropped(fitted.get("dropped")),
        *(f"Note: {note}{'' if note.endswith('?') else '.'}" for note in notes_of(params)),
    ]
    return "\n".join(lines)


def _chosen(params: Params, profile: str | None) -> str:
    price = cost(params)
    names = ", ".join(params.signals)
    # What is left of a profile when signals are dropped has no name.
    chosen = "own signals" if profile in (None, "custom") else f"profile {profile}"
    inputs = f"posteriors and {params.features} features" if params.features else "posteriors alone"
    return (
        f"Chosen: {chosen} ({names}) for {params.classes} classes on {inputs}, about the {params.about}; "
        f"{price.ram_bytes:,} bytes of RAM and about {price.instructions:,} instructions per step."
    )


def _gain(params: Params, fitted: Mapping[str, Any]) -> str:
    if not fitted["labels"]:
        way = "Fit with even a short labeled log to measure it and to learn weights."
        return f"Gain: unknown without labels. {way}"
    wrong_predictions = fitted.get("prediction_errors", fitted["errors"])
    wrong = f"Wrong: {_share(wrong_predictions, fitted['steps'])} of the predictions"
    if params.about == "answer":
        wrong += f", {_share(fitted['errors'], fitted['steps'])} of the answers"
    if params.instant is None:
        both = f"risk {fitted['auroc']:.3f}, 1 - max probability {fitted['auroc_confidence']:.3f}"
        return f"{wrong}. AUROC of errors on this log: {both}."
    rules = (fitted.get("rules") or {}).get("of")
    if not rules:
        return f"{wrong}."
    own = rules["monitor"]
    best = min((name for name in rules if name != "monitor"), key=lambda name: float(rules[name]["left"]))
    held = "shift types" if fitted["rules"]["kinds"] else "parts of the log"
    text = f"{wrong}. Of the surest {fitted['rules']['coverage']:.0%}, with {held} held out in turn: "
    text += f"{own['left']:.1%}; best simple rule, {best}: {rules[best]['left']:.1%}"
    if best != "confidence":
        text += f"; confidence: {rules['confidence']['left']:.1%}"
    if rules[best]["left"] <= own["left"]:
        text += ". This simple rule does as well as the monitor or better"
    return f"{text}."


def _abstains(params: Params) -> str:
    level, budget = (f"{100 * share:.4g}%" for share in (params.level, params.budget))
    most = f"on at most {budget} of the steps" if params.budget else "never"
    if params.feedback is not None and params.feedback.above_budget:
        most = f"{most}, but for errors"
    return f"Abstains: {most}; flags {level}."


def _errors(params: Params, fitted: Mapping[str, Any]) -> list[str]:
    """Say what labels that come late may do."""
    head = params.feedback
    if head is None:
        return []
    if head.max_error is None:
        late = f"up to {head.memory} steps late"
        return [f"Labels: those that come {late} correct the expected accuracy and the alarm."]
    first = "The budget holds first: beyond it, doubtful steps are accepted and not covered"
    if head.above_budget:
        first = "Where that needs it, the monitor abstains beyond the budget"
    share, more = head.max_error, params.error_constant
    return [
        f"Errors: {errors_promised(params)}; proved. So {math.floor(more / (1 - share)) + 1:,} labels say "
        f"something, and {math.ceil(more / share):,} say at most {200 * share:.4g}%. {first}. Steps without "
        f"a label are not covered; {fitted['feedback']['accepted']:.0%} of this log would be accepted."
    ]


def errors_promised(params: Params) -> str:
    """Say what is proved of wrong answers among labeled accepted steps (SPEC.md section 19)."""
    head = params.feedback
    assert head is not None and head.max_error is not None
    which = "" if head.above_budget else "were not doubtful and "
    # A bound that is rounded is still one.
    plain, doubled = (f"{math.ceil(round(10 * times * params.error_constant, 6)) / 10:g}" for times in (1, 2))
    return (
        f"of n accepted steps that {which}are labeled up to {head.memory} steps late, at most "
        f"{100 * head.max_error:.4g}% of n + {plain} are wrong, or + {doubled} once labels of withheld "
        "steps have brought a nearly silent monitor back"
    )


def _has_alarm(params: Params) -> bool:
    return params.alarm.rise is not None or params.alarm.fall is not None


def _alarm(params: Params, fitted: Mapping[str, Any]) -> str:
    if not _has_alarm(params):
        return f"Alarm: none, as {fitted['clean_steps']:,} clean steps are too few to set one."
    what = "risk"
    if params.sight is not None:
        seen = ", ".join(params.sight.gauges)
        what = f"distance from clean data, of {f'gauges ({seen}) and ' if seen else ''}outputs"
    if params.evidence is not None:
        names = ", ".join(name for name, value in params.evidence.coef.items() if value)
        names = names or "no signal (none tells shifts from clean steps)"
        what = f"evidence from {names}, {_source(fitted['evidence'])}"
    proved = (fitted.get("evidence") or {}).get("proved")
    if proved:
        level = fitted["evidence"]["bet"]["level"]
        text = (
            f"Alarm: {what}; at most one false alarm in {proved:,} clean steps on average, proved as long as "
            f"the mean score given the past stays below {level:.2f}"
        )
    else:
        text = f"Alarm: {what}; set for one false alarm in {fitted['run_length']:,} clean steps"
    elsewhere = fitted.get("run_length_elsewhere")
    if elsewhere:
        times = elsewhere["false_alarms"]
        text += f"; {times} came in {elsewhere['steps']:,} held-out clean steps"
        if params.sight is not None and times > 2 * max(1.0, elsewhere["steps"] / fitted["run_length"]):
            text += ", more than twice as many: expect so many, or record a longer clean log"
    return f"{text}."


def _found(left_out: Mapping[str, Any] | None) -> list[str]:
    """Say what the alarm finds, of kinds of shift that it was not fitted to."""
    if not left_out:
        return []
    count, of, delay = left_out["found"], left_out["kinds"], left_out["delay"]
    shown = "above the length of a stretch" if delay is None else f"{delay:.0f} steps"
    on = f"{left_out['on_shifted']:.0%} of shifted and {left_out['on_clean']:.0%} of this clean time"
    text = f"found {count} of {of} shift types, fitted to none of them, median delay {shown}, on for {on}"
    return [f"Alarm: do not rely on this alarm: it {text}." if 2 * count < of else f"Alarm: {text}."]


def _source(evidence: Mapping[str, Any]) -> str:
    """Say what the evidence was made from and, where it is not learned, why."""
    if "from" not in evidence:
        return "learned from shifts"
    text = "as deviations from clean steps"
    return f"{text}, as {said(evidence['why'])}" if "why" in evidence else text


def _accuracy(params: Params, fitted: Mapping[str, Any]) -> list[str]:
    if params.instant is None:
        return []
    if not params.horizon:
        return ["Expected accuracy: none without labels."]
    text = f"Expected accuracy: over about {params.horizon} steps"
    measured = fitted["expected_accuracy"]
    if "error" not in measured:  # a fit without an explanation
        return [f"{text}."]
    error = measured["error"]
    if error is None:
        unknown = "how far off it is under a new shift is unknown, as fewer than two shift types are marked"
        return [f"{text}; {unknown}."]
    beside = ", ".join(
        f"{name} by {100 * measured[key]:.1f}"
        for key, name in (("error_confidence", "mean confidence"), ("error_atc", "ATC"))
        if measured.get(key) is not None
    )
    text += f"; off by {100 * error:.1f} points on average over 200 steps, on shift types held out in turn"
    text = f"{text} ({beside})" if beside else text
    if params.accuracy_error is None:
        return [f"{text}."]
    off, on = (f"{100 * DEVIATIONS * each:.0f}" for each in params.accuracy_error)
    return [f"{text}; a 90 % band is at least {off} points wide on either side, {on} while the alarm is on."]


def _steps(params: Params, fitted: Mapping[str, Any]) -> str:
    """Say how many steps there are, and which of them set the threshold (and the alarm)."""
    what = "threshold and alarm" if _has_alarm(params) else "the threshold"
    used, marked = fitted["clean_steps"], fitted["clean_marked"]
    text = f"{_count(fitted['steps'], 'step')} in {_count(fitted['segments'], 'segment')}"
    if fitted["clean_from"] == "all":
        return f"{text}, all taken as clean: they set {what}."
    if fitted["clean_from"] == "clean log":
        text += f". The clean log has {_count(marked, 'step')}"
        text += " not marked as shifted" if used < marked else ""
    else:
        text += f", {marked:,} of them clean"
    if used == marked:
        return f"{text}; they set {what}."
    rest = f"the other {marked - used:,} {'is' if marked - used == 1 else 'are'} left out"
    return f"{text}. Of these, {used:,} set {what}; {rest}, as the monitor still remembers a shift there."


def _details(fitted: Mapping[str, Any]) -> list[str]:
    """Say what each signal adds, and what simple rules reach."""
    lines = []
    if "signals" in fitted:
        lines.append(_time(fitted["time"]))
        if "explained_steps" in fitted:
            count = f"{fitted['explained_steps']:,} of the steps, drawn at random"
            lines.append(f"These figures and those of the table are from {count}.")
        lines += _signals(fitted["signals"])
    rules = (fitted.get("rules") or {}).get("of")
    if rules:
        surest = f"of the surest {fitted['rules']['coverage']:.0%}"
        lines.append(f"{'rule':<22}{'wrong':>8}{surest:>24}")
        lines += [f"{name:<22}{row['wrong']:>8.1%}{row['left']:>24.1%}" for name, row in rules.items()]
    return lines


HELP = 0.01  # AUROC that time must add before we say that it helps


def _time(gain: Mapping[str, Any] | str) -> str:
    """Say what time gains."""
    if isinstance(gain, str):  # of a fit of version 0.3
        return gain
    scores = [math.nan if gain[name] is None else gain[name] for name in ("stream", "shuffle", "doubt")]
    stream, shuffle, doubt = scores
    turns = f" with {gain['kinds']} kinds of shift held out in turn" if gain["kinds"] else ""
    figures = (
        f"held-out AUROC of errors {stream:.3f} on the stream{turns}, {shuffle:.3f} on its own shuffle, "
        f"{doubt:.3f} from the current posterior alone"
    )
    if not all(map(math.isfinite, scores)):
        return f"Whether time helps cannot be told, with too few errors in some of the folds: {figures}."
    if stream - max(doubt, shuffle) >= HELP:
        return f"Time helps here: {figures}."
    if stream - doubt >= HELP:
        return f"The signals help here, but not through time, as the shuffle does as well: {figures}."
    return (
        f"Time does not help here: {figures}. The past adds less than {HELP}; the stream may be shuffled, or "
        "the classifier's errors may not depend on its past."
    )


def _signals(signals: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = [f"{'signal':<15}{'coef':>9}{'clean mean':>12}{'alone':>8}{'adds':>9}   (held-out AUROC)"]
    for name, row in signals.items():
        cells = [
            f"{row[k]:{f}}" if row[k] is not None else "-"
            for k, f in (("coef", "+.3f"), ("clean_mean", ".3f"), ("alone", ".3f"), ("adds", "+.4f"))
        ]
        lines.append(f"{name:<15}{cells[0]:>9}{cells[1]:>12}{cells[2]:>8}{cells[3]:>9}")
    return lines


def _dropped(dropped: Mapping[str, Any] | None) -> list[str]:
    """Say which signals and features are not in the parameters, and what that saves."""
    if dropped is None:
        return []
    signals = ", ".join(dropped["signals"])
    what = [f"{'signal' if len(dropped['signals']) == 1 else 'signals'} {signals}"] if signals else []
    if dropped["features"]:
        what.append(_count(dropped["features"], "feature"))
    text = f"Dropped: {' and '.join(what)}, as no weight reads them"
    if dropped["ram_bytes"] or dropped["instructions"]:
        text += f", which saves {dropped['ram_bytes']:,} bytes"
        text += f" and about {dropped['instructions']:,} instructions per step"
    return [f"{text}{'; call the monitor without features' if dropped['features'] else ''}."]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _share(count: int, of: int) -> str:
    return f"{count / max(1, of):.1%}"
