"""What came out, in about ten lines for a person, and the page of next steps beside the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._version import VERSION
from ..base.generated import plain_text

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


PAGE = """# A monitor for {model}

Made by `tcuq start` (tcuq {version}, seed {seed}) from {data}.

```
{summary}
```

{meaning}

## What is here

| File | What it is |
| --- | --- |
| `report.html` | the judged stream, step by step: open it in a browser |
| `monitor.json` | the monitor: `tcuq run`, `tcuq inspect` and `tcuq export` read it |
| `firmware/` | the monitor as C files in one folder, with an example and a self-check; its README says \
how to build it |
| `dev.npz`, `test.npz` | what the model said on the steps to fit and on those to judge |
| `decisions.csv` | what the monitor decided on `test.npz` |

## How it was judged

{judged}{tables}
## What to do next

1. Open `report.html`. Look at what the monitor does when a shift begins.
2. Build `firmware/` and call the monitor after each inference. The self-check tells whether your compiler \
agrees.
3. Record a stream of your own, as the device will see it: `tcuq record MODEL stream.npz -o own.npz`. \
Then try the monitor on it: `tcuq run monitor.json own.npz -o own.csv` and \
`tcuq report own.csv -o own.html --params monitor.json --log own.npz`.
4. Fit again, with how often the monitor may abstain and how rare false alarms must be: \
`tcuq fit own.npz -o own.json --budget 0.1 --run-length 50000`, if you have labels for that stream. It \
learns the pace and the shifts of your device, which a made stream can only guess. Else fit `dev.npz`.
5. After a new fit `firmware/` is out of date: it holds `monitor.json`. Write it again: \
`{export}`.
{network}{notes}"""

NETWORK = """6. If the model is int8, put the network itself on the board as well: \
`tcuq device import MODEL -o network.npz`, then `tcuq device emit network.npz monitor.json -o board` \
(after a new fit, `own.json`).
"""

MADE = """The streams are made of your examples: stretches in which a class stays, one example is held, or \
all is shuffled, clean and degraded in turn. **The degradations are generic. Those of your device will be \
others**, so expect other figures there. Add your own with `--shifts module:function`."""

REAL = """Your data are a stream already, so nothing was made up: its first part fitted the monitor, the \
rest judged it."""


def readme(found: Mapping[str, Any]) -> str:
    """Return the page."""
    notes = "".join(f"- {each}\n" for each in found["notes"])
    return PAGE.format(
        export=_export(found),
        network=NETWORK if str(found["model"]).endswith(".tflite") else "",
        model=plain_text(found["model"]),
        version=VERSION,
        seed=found["seed"],
        data=plain_text(found["data"]),
        summary="\n".join(found["lines"]),
        meaning=MADE if found["made"] else REAL,
        judged=_judged(found),
        tables=_tables(found),
        notes=f"\n## Notes\n\n{notes}" if notes else "",
    )


def _export(found: Mapping[str, Any]) -> str:
    """Return the command that writes ``firmware`` as it was written, of other parameters."""
    scale = "" if found["logits_scale"] is None else f" --logits-scale {found['logits_scale']!r}"
    return f"tcuq export own.json firmware --name monitor{scale} --force"


def _judged(found: Mapping[str, Any]) -> str:
    if not found["made"]:
        fitted, judged = found["fit_steps"], found["steps"]
        return f"The first {fitted:,} steps were used to fit, the last {judged:,} to judge.\n"
    text = f"{found['fit_examples']:,} examples were used to fit"
    text += f", {found['judge_examples']:,} others to judge."
    if found["fit_kinds"] and set(found["fit_kinds"]).isdisjoint(found["judge_kinds"]):
        fitted, judged = (", ".join(map(plain_text, found[key])) for key in ("fit_kinds", "judge_kinds"))
        text += f" The fit saw the shifts {fitted}; it is judged by others: {judged}."
    elif found["fit_kinds"]:
        text += " Both have the same kind of shift, as there is only one."
    return f"{text}\n"


def _tables(found: Mapping[str, Any]) -> str:
    text = _left_out(found)
    for title, key in (("Shift", "by_kind"), ("Pace", "by_pace")):
        rows: Mapping[str, Mapping[str, Any]] = found.get(key) or {}
        if len(rows) < 2:
            continue
        labeled = all("wrong_model" in row for row in rows.values())
        heads = [title, "Steps", *(["Model wrong", "Answers wrong"] if labeled else []), "Alarm on"]
        heads += ["Found"] if key == "by_kind" else []
        text += f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n"
        for name, row in rows.items():
            shares = [row[each] for each in ("wrong_model", "wrong_answers", "alarm_on") if each in row]
            cells = [plain_text(name), f"{row['steps']:,}", *(f"{each:.1%}" for each in shares)]
            if key == "by_kind":
                cells.append(f"{row['shifts_alarmed']} of {row['shifts']}" if row.get("shifts") else "")
            text += f"| {' | '.join(cells)} |\n"
    return text


def _left_out(found: Mapping[str, Any]) -> str:
    """Return what the alarm found of each kind of shift that it was fitted without."""
    rows: Mapping[str, Mapping[str, Any]] = (found.get("left_out") or {}).get("by_kind") or {}
    if not rows:
        return ""
    text = "\nThe alarm was also fitted without each kind of shift in turn, and tried on it:\n"
    text += "\n| Shift left out | Found | Median delay | Alarm on |\n| --- | --- | --- | --- |\n"
    for name, row in rows.items():
        delay = "" if row["delay"] is None else f"{row['delay']:.0f} steps"
        text += f"| {plain_text(name)} | {row['found']} of {row['stretches']} | {delay} | {row['on']:.1%} |\n"
    return f"{text}\nOn the judged part:\n"
