"""The page of next steps that `tcuq start` leaves beside its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._version import VERSION
from ..base.generated import plain_text

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
(after a new fit, `own.json`). Or keep the runtime that you have, such as TFLite Micro: \
`tcuq device outputs MODEL -o features.tflite` and `tcuq export monitor.json glue --glue tflm`.
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
