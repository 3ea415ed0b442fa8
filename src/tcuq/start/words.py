"""What came out, in about ten lines for a person, and the page of next steps beside the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._version import VERSION
from ..export.generated import plain_text
from ..report.summary import HARM

BETTER = "more examples rarely change that: try shifts of your device, or a recorded stream"
"""What to do about an alarm that does not find generic shifts; `tools/start_sizes.py` measures it."""


def summary(facts: Mapping[str, Any]) -> list[str]:
    """Return the result as lines; honest where the monitor adds nothing."""
    others = "steps of other examples" if facts["made"] else "later steps of your stream"
    rows = [
        ("Verdict", verdict(facts)),
        ("Answers", answers_words(facts)),
        ("Fitted on", f"{facts['fit_steps']:,} steps{_kinds(facts['fit_kinds'])}"),
        ("Tested on", f"{facts['steps']:,} {others}{_kinds(facts['judge_kinds'])}"),
    ]
    rows += _errors(facts) if "wrong_model" in facts else [("Wrong answers", "unknown without labels")]
    rows.append(("Abstains", f"on {facts['abstained']:.1%} of the steps (budget {share(facts['budget'])})"))
    rows.append(("Alarm", alarm_words(facts)))
    kinds = {name: row for name, row in (facts.get("by_kind") or {}).items() if row.get("shifts")}
    if facts["has_alarm"] and len(kinds) > 1:
        found = (f"{name} {row['shifts_alarmed']} of {row['shifts']}" for name, row in kinds.items())
        rows.append(("  by type", ", ".join(found)))
    left_out = (facts.get("left_out") or {}).get("by_kind")
    if left_out:
        found = (f"{name} {row['found']} of {row['stretches']}" for name, row in left_out.items())
        rows.append(("  held out in turn", f"{', '.join(found)} (stretches of the fit)"))
    if facts.get("alarm_on_shifted") or facts.get("alarm_on_clean"):
        rows.append(("  on during", _during(facts)))
    if "expected_off" in facts:
        mean = f"{facts['expected_accuracy']:.1%} on average (true: {facts['accuracy']:.1%})"
        off = f"off by {100 * facts['expected_off']:.1f} points on average over 200 steps"
        rows.append(("Expected accuracy", f"{mean}; {off}"))
    width = max(len(name) for name, _ in rows) + 2
    return [f"{name:<{width}}{text}" for name, text in rows]


def share(part: float) -> str:
    """Return a share that the user chose in percent, as exactly as it was chosen."""
    return f"{100 * part:.6g}%"


def _during(facts: Mapping[str, Any]) -> str:
    shifted, clean = facts["alarm_on_shifted"], facts["alarm_on_clean"]
    parts = [] if shifted is None else [f"{shifted:.0%} of shifted steps"]
    if clean is not None:
        before = "raised before them; " * (bool(parts) and clean > 0 and not facts["false_alarms"])
        parts.append(f"{clean:.0%} of clean {'ones' if parts else 'steps'} ({before}it takes time to clear)")
    return ", ".join(parts)


def _kinds(names: Sequence[str]) -> str:
    return f", shifts: {', '.join(names)}" if names else ""


def _errors(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    kept = share(1 - facts["budget"])
    wrong = f"{facts['wrong_model']:.1%} without the monitor, {facts['wrong_answers']:.1%} with its answers"
    sure = f"{facts['sure_by_confidence']:.1%} by confidence, {facts['sure_by_monitor']:.1%} by the monitor"
    rows = [("Wrong answers", wrong), (f"  of the surest {kept}", sure)]
    if facts["auroc_confidence"] is not None and facts["auroc_monitor"] is not None:
        scores = f"confidence {facts['auroc_confidence']:.3f}, monitor {facts['auroc_monitor']:.3f}"
        rows.append(("Ranks errors", f"AUROC: {scores}"))
    return rows


def alarm_words(facts: Mapping[str, Any]) -> str:
    """Say when the alarm came and when it should not have come."""
    if not facts["has_alarm"]:
        return "none: too few clean steps to set one; pass more examples"
    if "shifts" not in facts:
        return f"on during {facts['alarm_on']:.1%} of the steps; how many of them are shifted is not marked"
    times = f"{facts['false_alarms']} false alarm{'s' * (facts['false_alarms'] != 1)}"
    false = f"{times} in {facts['clean_steps']:,} clean steps"
    if not facts["shifts"] and not facts["shifts_already_raised"]:
        return f"{false}; no shifts to detect"
    text = f"raised in {facts['shifts_alarmed']} of {facts['shifts']} shifted stretches"
    if facts["delay_median"] is not None:
        text += f", after {facts['delay_median']:g} steps (median)"
    if facts["shifts_already_raised"]:
        text += f", still on from before in {facts['shifts_already_raised']} more"
    return f"{text}; {false}"


def verdict(facts: Mapping[str, Any]) -> str:
    """Say what the alarm finds of shifts that it has not seen, how far off accuracy is, and of answers."""
    if facts.get("label_note"):
        return f"DO NOT USE THIS MONITOR, written because it was forced: {facts['label_note']}"
    accuracy = _accuracy_verdict(facts.get("fit_accuracy") or {}, facts.get("expected_off"))
    answers = f"answers {answers_words(facts).partition(':')[0]}"
    return "; ".join(filter(None, [_alarm_verdict(facts), accuracy, answers]))


def _alarm_verdict(facts: Mapping[str, Any]) -> str:
    if not facts["has_alarm"]:
        return "there is no alarm: too few clean steps to set one"
    parts, held_out = [], facts.get("left_out")
    if held_out:
        delay = "" if held_out["delay"] is None else f"median delay {held_out['delay']:.0f} steps, "
        on = f"{held_out['on_shifted']:.0%} of harmful and {held_out['on_clean']:.0%} of clean time"
        kinds = f"{held_out['found']} of {held_out['kinds']} shift types held out in turn"
        parts.append(f"{kinds} ({delay}on for {on})")
    what, hit, of = _harmful(facts)
    if of:
        parts.append(f"{hit} of {of} {what} stretches of the test part")
    if not parts:
        return "whether the alarm finds shifts is open: no harmful ones are marked"
    found = f"found {' and '.join(parts)}"
    missed = 2 * hit < of
    if held_out:  # an alarm that is on about as often while all is well finds shifts by chance
        missed |= 2 * held_out["found"] < held_out["kinds"]
        missed |= held_out["on_shifted"] < 2 * held_out["on_clean"]
    way = f" ({BETTER})" if facts.get("made") else ""
    return f"DO NOT RELY ON THE ALARM: it {found}{way}" if missed else f"the alarm {found}"


def _harmful(facts: Mapping[str, Any]) -> tuple[str, int, int]:
    """Return which judged stretches count, those that cost accuracy if it is known; those found, and all."""
    rows: Mapping[str, Mapping[str, Any]] = facts.get("by_kind") or {}
    clean = (rows.get("clean") or {}).get("wrong_model")
    kinds = [row for row in rows.values() if row.get("shifts")]
    kinds = [row for row in kinds if clean is None or row["wrong_model"] >= clean + HARM]
    what = "shifted" if clean is None else "harmful"
    return what, sum(row["shifts_alarmed"] for row in kinds), sum(row["shifts"] for row in kinds)


def _accuracy_verdict(fit: Mapping[str, Any], judged: float | None) -> str:
    if fit.get("error") is None:
        return ""
    others = {"mean confidence": fit.get("error_confidence"), "ATC": fit.get("error_atc")}
    known = {name: error for name, error in others.items() if error is not None}
    beside = ", ".join(f"{name} {100 * error:.1f}" for name, error in known.items())
    nearer = " and ".join(name for name, error in known.items() if error < fit["error"])
    beside += f"; closer: {nearer}" if nearer else ""
    also = "" if judged is None else f" and by {100 * judged:.1f} in the test part"
    off = f"expected accuracy is off by {100 * fit['error']:.1f} points on held-out shift types"
    return f"{off}{f' ({beside})' if beside else ''}{also}"


def answers_words(facts: Mapping[str, Any]) -> str:
    """Say whether answers and abstentions are worth it, as far as these steps can tell."""
    if "gain" not in facts:
        return "open: only labels can tell whether the monitor ranks errors better than confidence"
    if facts["wrong_model"] == facts["wrong_answers"] == 0:
        return "open: there is no wrong answer on these steps to tell the monitor from confidence"
    if facts["gain_low"] is None:
        few = f"{facts['steps']:,} steps are too few blocks of {facts['block']:,}"
        return f"open: a class may stay for long, and {few} to tell the monitor from confidence"
    kept, points = (share(1 - facts["budget"]), [_points(-facts[each]) for each in ("gain_high", "gain_low")])
    interval = f"95% interval {min(map(abs, points)):.1f} to {max(map(abs, points)):.1f}"
    if facts["gain_high"] < 0:
        fewer = f"{-100 * facts['gain']:.1f} points fewer errors among the surest {kept}"
        return f"better than confidence: {fewer} ({interval})"
    if facts["gain_low"] > 0:
        more = f"{100 * facts['gain']:.1f} points more errors among the surest {kept}"
        return f"WORSE than confidence: {more} ({interval}); use the alarm, and confidence to abstain"
    interval = f"95% interval {_fewer(points[0])} to {_fewer(points[1])}"
    gained = f"{_fewer(_points(-facts['gain']))} errors among the surest {kept} ({interval})"
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
| `report.html` | the test stream, step by step: open it in a browser |
| `monitor.json` | the monitor: `tcuq run`, `tcuq inspect` and `tcuq export` read it |
| `firmware/` | the monitor as C files in one folder, with an example and a self-check; its README says \
how to build it |
| `dev.npz`, `test.npz` | what the model said on the steps to fit and on those to test |
| `decisions.csv` | what the monitor decided on `test.npz` |

## How it was tested

{judged}{tables}
## What to do next

1. Open `report.html`. Look at what the monitor does when a shift begins.
2. Build `firmware/` and call the monitor after each inference{gauges}. The self-check says whether your \
compiler agrees.
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
(after a new fit, `own.json`). Or keep the runtime that you have, such as TFLite Micro: \
`tcuq device outputs MODEL -o features.tflite` and `tcuq export monitor.json glue --glue tflm`.
"""

MADE = """The streams are made of your examples: stretches in which a class stays, one example is held, or \
all is shuffled, clean and degraded in turn. **The degradations are generic. Those of your device will be \
others**, so expect other figures there. Add your own with `--shifts module:function`."""

REAL = """Your data are a stream already, so nothing was made up: its first part fitted the monitor, the \
rest tested it."""


def readme(facts: Mapping[str, Any]) -> str:
    """Return the page."""
    notes = "".join(f"- {each}\n" for each in facts["notes"])
    # The command writes `firmware` as it was written, of other parameters.
    scale = "" if facts["logits_scale"] is None else f" --logits-scale {facts['logits_scale']!r}"
    return PAGE.format(
        export=f"tcuq export own.json firmware --name monitor{scale} --force",
        gauges=", with the gauges of its input (its README shows how)" * bool(facts.get("gauges")),
        network=NETWORK if str(facts["model"]).endswith(".tflite") else "",
        model=plain_text(facts["model"]),
        version=VERSION,
        seed=facts["seed"],
        data=plain_text(facts["data"]),
        summary="\n".join(facts["lines"]),
        meaning=MADE if facts["made"] else REAL,
        judged=_judged(facts),
        tables=_tables(facts),
        notes=f"\n## Notes\n\n{notes}" if notes else "",
    )


def _judged(facts: Mapping[str, Any]) -> str:
    if not facts["made"]:
        fitted, judged = facts["fit_steps"], facts["steps"]
        return f"The first {fitted:,} steps were used to fit, the last {judged:,} to test.\n"
    text = f"{facts['fit_examples']:,} examples were used to fit"
    text += f", {facts['judge_examples']:,} others to test."
    if facts["fit_kinds"] and set(facts["fit_kinds"]).isdisjoint(facts["judge_kinds"]):
        fitted, judged = (", ".join(map(plain_text, facts[key])) for key in ("fit_kinds", "judge_kinds"))
        text += f" The fit saw the shifts {fitted}; it is tested on others: {judged}."
    elif facts["fit_kinds"]:
        text += " Both have the same shift type, as there is only one."
    return f"{text}\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, *rows]
    text = [f"| {' | '.join(cells)} |\n" for cells in lines]
    return "".join(["\n", text[0], f"|{' --- |' * len(titles)}\n", *text[1:]])


def _tables(facts: Mapping[str, Any]) -> str:
    text = ""
    rows: Mapping[str, Mapping[str, Any]] = (facts.get("left_out") or {}).get("by_kind") or {}
    if rows:
        cells = []
        for name, row in rows.items():
            delay = "" if row["delay"] is None else f"{row['delay']:.0f} steps"
            found = f"{row['found']} of {row['stretches']}"
            cells.append([plain_text(name), found, delay, f"{row['on']:.1%}"])
        text = "\nThe alarm was also fitted without each shift type in turn, and tried on it:\n"
        text += _table(["Shift held out", "Found", "Median delay", "Alarm on"], cells)
        text += "\nOn the test part:\n"
    for title, key, last in (("Shift", "by_kind", ["Found"]), ("Pace", "by_pace", [])):
        rows = facts.get(key) or {}
        if len(rows) < 2:
            continue
        labeled = all("wrong_model" in row for row in rows.values())
        titles = [title, "Steps", *["Model wrong", "Answers wrong"] * labeled, "Alarm on", *last]
        cells = []
        for name, row in rows.items():
            shares = [row[each] for each in ("wrong_model", "wrong_answers", "alarm_on") if each in row]
            found = f"{row['shifts_alarmed']} of {row['shifts']}" if row.get("shifts") else ""
            shown = [plain_text(name), f"{row['steps']:,}", *(f"{each:.1%}" for each in shares)]
            cells.append(shown + [found] * len(last))
        text += _table(titles, cells)
    return text
