"""The page beside the files: the verdict, how it was reached, and the next steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._version import VERSION
from ..export.generated import plain_text
from .verdict import percent

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

{judged}
{figures}
{tables}
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
        figures=_figures(facts),
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


def _figures(facts: Mapping[str, Any]) -> str:
    """Return what the four checks do not say."""
    asks = f"It asks on {facts['abstained']:.1%} of the steps (limit {percent(facts['budget'])})."
    if "wrong_model" not in facts:
        return f"- {asks} How many answers are wrong is unknown without labels.\n"
    wrong = f"{facts['wrong_model']:.1%} without the monitor, {facts['wrong_answers']:.1%} with its answers"
    text = f"- Wrong answers: {wrong}. {asks}\n"
    if facts["gain_low"] is not None:
        low, high = sorted(round(-100 * facts[each], 1) + 0.0 for each in ("gain_low", "gain_high"))
        points = f"{round(-100 * facts['gain'], 1) + 0.0:g} points fewer errors than confidence"
        points += f" (95% interval {low:g} to {high:g})"
        text += f"- Among the {percent(1 - facts['budget'])} most trusted: {points}.\n"
    if facts["auroc_confidence"] is not None and facts["auroc_monitor"] is not None:
        scores = f"confidence {facts['auroc_confidence']:.3f}, monitor {facts['auroc_monitor']:.3f}"
        text += f"- AUROC of errors: {scores}.\n"
    return text


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
