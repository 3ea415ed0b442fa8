"""The self-check of an exported monitor fails for every output that a core gets wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exported import SEEING
from places import ROOT
from tiers import first_quick

from tcuq import SIGNALS, Alarm, AlarmSide, EvidenceHead, Monitor, Params
from tcuq.export import export, sources
from tcuq.export.contents import Contents
from tcuq.export.selfcheck import SelfCheck
from tcuq.monitor.heads import InstantHead
from tcuq_device.cost.stock import standard

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

PLAIN = ("divergence", "flips", "doubt", "odds")
WIDE = (*PLAIN, "instability", "magnitude")
SLOW_ALARM = Alarm(0.45, AlarmSide(0.05, 20.0), AlarmSide(0.05, 12.0))


def params(signals: tuple[str, ...], features: int, evidence: bool) -> Params:
    signals += ("degradation",) if evidence else ()
    return Params(
        classes=6,
        features=features,
        signals=signals,
        lags=(1, 2, 5),
        coef={name: 1.5 + 0.5 * (name in ("flips", "magnitude")) for name in signals},
        clean_means=dict.fromkeys(signals, 0.2),
        bias=-2.0,
        warmup=30,
        level=0.2,
        budget=0.15,
        alarm=Alarm(0.0, AlarmSide(0.0, 60.0)) if evidence else SLOW_ALARM,
        evidence=EvidenceHead(
            {"doubt": 6.0, "odds": 2.0, "degradation": 9.0}, [-3.0, -2.5, -3.0, -2.0, -3.0, -2.0], bias=-4.5
        )
        if evidence
        else None,
    )


def learned(name: str) -> Params:
    """Return a monitor that learns the persistence, with heads in which every signal counts."""
    of = standard(name)
    ups = {"magnitude": 1.0, "distance": 1.5}
    head = of.evidence
    # Even between the calm and the bad stretches, or no alarm would come, or none would go.
    offsets = [each + 2 for each in head.offsets]
    return of.replace(
        evidence=replace(head, offsets=offsets, bias=head.bias - (7.5 if "drift" in of.signals else 0)),
        coef={signal: ups.get(signal, 4.0) for signal in of.signals},
        instant=InstantHead({signal: ups.get(signal, 3.0) for signal in of.signals}, -5.0),
        bias=-6.0,
        clean_means=dict.fromkeys(of.signals, 0.2),
        warmup=20,
        level=0.2,
    )


PROFILES = {
    "posteriors": params(PLAIN, 0, False),
    "features, evidence": params(WIDE, 4, True),
    "stock, lag 16": Params(classes=10, lags=(1, 16)),  # as far back as from one saved state to the next
    "standard, bet": learned("standard, bet"),
}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "monitor.h"
#include "monitor_selfcheck.h"
static int mutant;
void tcuq_true_step(tcuq_t *, const int8_t *, const int8_t *, tcuq_step_t *, uint16_t *);
int tcuq_true_save(const tcuq_t *, uint8_t *, size_t);
int tcuq_true_load(tcuq_t *, const uint8_t *, size_t);
void tcuq_true_reset(tcuq_t *);
void tcuq_step(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out, uint16_t *signals)
{
    static tcuq_step_t last;
    tcuq_true_step(m, probs, features, out, signals);
    switch (mutant) {
%(step)s
    }
    last = *out;
}
int tcuq_save(const tcuq_t *m, uint8_t *bytes, size_t size)
{
    tcuq_t copy = *m;
    int found;
    switch (mutant) {
%(save)s
    }
    found = tcuq_true_save(&copy, bytes, size);
    if (mutant >= 100000) bytes[mutant - 100000] ^= 1u;
    return found;
}
int tcuq_load(tcuq_t *m, const uint8_t *bytes, size_t size)
{
    int found = tcuq_true_load(m, bytes, size);
    switch (mutant) {
%(load)s
    }
    return found;
}
void tcuq_reset(tcuq_t *m)
{
    if (mutant != 99999) tcuq_true_reset(m);
}
int main(int count, char **texts)
{
    static uint32_t ring[MONITOR_RING_BYTES / 4u];
    int i;
    for (i = 1; i < count; i++) {
        mutant = atoi(texts[i]);
        printf("%%d\\n", monitor_selfcheck(ring, sizeof ring));
    }
    return 0;
}
"""


def fields_of(header: str, struct: str) -> dict[str, str]:
    """Return the fields of a struct that are numbers, type by name."""
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = next(b for b, name in re.findall(r"typedef struct \{([^{}]*)\}\s*(\w+);", plain) if name == struct)
    return {name: kind for kind, name in re.findall(r"(u?int\d+_t)\s+(\w+);", body)}


def long_stream(of: Params) -> tuple[np.ndarray, np.ndarray | None]:
    """Return stretches of many kinds, drawn without a look at what the self-check plays."""
    rng = np.random.default_rng(11)
    probs, features = [], []
    for _ in range(60):
        label, sure = rng.integers(of.classes), rng.choice([0.02, 0.3, 1.0, 5.0, 60.0])
        for _ in range(int(rng.integers(5, 300))):
            label = rng.integers(of.classes) if rng.random() < 0.1 else label
            weights = np.full(of.classes, 0.5)
            weights[label] += sure
            probs.append(rng.dirichlet(weights))
        size = len(probs) - len(features)
        features += list(
            rng.integers(-128, 128, of.features) // rng.integers(1, 40) + np.zeros((size, 1), int)
        )
    raw = np.minimum(255, np.floor(np.array(probs) * 256 + 0.5)).astype(np.int64) - 128
    return raw.astype(np.int8), np.array(features).astype(np.int8) if of.features else None


def possible_mutants(of: Params, header: str) -> dict[str, tuple[str, str]]:
    """Return what could be wrong, as (function, statement) by name; only what an actual stream shows."""
    steps, signals = Monitor(of).run(*long_stream(of), signals=True)
    reasons = SelfCheck(Contents(of)).column("reason")
    found = {}
    for field, kind in fields_of(header, "tcuq_step_t").items():
        scale = 65536 if steps.dtype[field].kind == "f" else 1
        values = np.nan_to_num(steps[field].astype(np.float64)) * scale
        for constant in (0, 1, 2, 3, 255):
            if (values != constant).any():
                found[f"{field} = {constant}"] = ("step", f"out->{field} = {constant};")
        found[f"{field} ^ 1"] = ("step", f"out->{field} = ({kind})(out->{field} ^ 1);")
        if (values[1:] != values[:-1]).any():
            found[f"{field} comes late"] = (
                "step",
                f"{{ {kind} now = out->{field}; out->{field} = last.{field}; last = *out;"
                f" last.{field} = now; return; }}",
            )
    if of.instant is not None:
        assert (steps["answer"] != steps["prediction"]).any()
        found["answer = prediction"] = ("step", "out->answer = out->prediction;")
        found["prediction = answer"] = ("step", "out->prediction = out->answer;")
    for bit in (1, 2):
        if (steps["alarm"] & bit).any():
            found[f"alarm without bit {bit}"] = ("step", f"out->alarm &= (uint8_t)~{bit}u;")
            found[f"alarm with bit {bit}"] = ("step", f"out->alarm |= {bit}u;")
            latched = f"out->alarm |= (uint8_t)(last.alarm & {bit}u);"
            found[f"alarm {bit} never clears"] = ("step", latched)
    for name in of.signals:
        number = SIGNALS.index(name)
        assert (signals[:, number] > 0).any()
        found[f"signal {name} = 0"] = ("step", f"if (signals) signals[{number}] = 0;")
        found[f"signal {name} ^ 1"] = ("step", f"if (signals) signals[{number}] ^= 1u;")
        if (reasons == number).any():
            found[f"never reason {name}"] = ("step", f"if (out->reason == {number}u) out->reason = 255u;")
    p = of.integers()
    # A sum of the parameters is for tcuq_verify() and never saved; that a past is held follows from the ring.
    unsaved = {"filled" if of.depth else "slot"}
    unsaved |= set() if of.evidence else {"degradation", "stillness"}
    unsaved |= set() if of.evidence and of.evidence.baseline else {"baseline", "baseline_seen"}
    unsaved |= set() if of.horizon else {"accuracy"}
    unsaved |= set() if of.depth else {"fill"}
    off = (
        unsaved
        | {side for side in ("rise", "fall") if not p[f"{side}_limit"]}
        | (set() if p["rise_limit"] or p["fall_limit"] else {"alarm"})
    )
    off |= {"alarm"} if of.evidence else set()  # told by a sum at its limit, which save mends
    for field in fields_of(header, "tcuq_t"):
        if field not in off:
            found[f"saved without {field}"] = ("save", f"copy.{field} = 0;")
    more = [*(["degradation"] if of.evidence else []), *(["accuracy"] if of.horizon else [])]
    for field in ("steps", "debt", "credit", *more):
        found[f"loaded without {field}"] = ("load", f"m->{field} = 0;")
    return found


@pytest.mark.parametrize("profile", first_quick(PROFILES))
def test_every_broken_output_fails_the_self_check(tmp_path: Path, profile: str) -> None:
    of = PROFILES[profile]
    export(of, tmp_path / "c")
    folder = tmp_path / "c"
    mutants = possible_mutants(of, (folder / "tcuq.h").read_text())
    cases: dict[str, list[str]] = {"step": [], "save": [], "load": []}
    for number, (where, statement) in enumerate(mutants.values(), 1):
        cases[where].append(f"    case {number}: {statement} break;")
    text = PROGRAM % {where: "\n".join(lines) for where, lines in cases.items()}
    (folder / "mutants.c").write_text(text)
    compile = ["cc", "-std=c99", "-O1"]
    core = sorted(file.name for file in folder.glob("tcuq*.c"))
    renamed = [f"-Dtcuq_{name}=tcuq_true_{name}" for name in ("step", "save", "load", "reset")]
    subprocess.run([*compile, *renamed, "-c", *core], cwd=folder, check=True)
    objects = [file.replace(".c", ".o") for file in core]
    own = ["mutants.c", "monitor.c", "monitor_selfcheck.c"]
    subprocess.run([*compile, *own, *objects, "-o", "mutants"], cwd=folder, check=True)
    names = ["none", *mutants, "no reset", *(f"saved byte {at}" for at in range(of.state_bytes))]
    numbers = [*range(len(mutants) + 1), 99999, *range(100000, 100000 + of.state_bytes)]
    run = [folder / "mutants", *map(str, numbers)]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    verdicts = dict(zip(names, map(int, said), strict=True))
    assert verdicts.pop("none") == 0
    assert [name for name, verdict in verdicts.items() if verdict == 0] == []
    assert len(mutants) > 50  # fields, signals, states: not an empty list that passes


@pytest.mark.parametrize("profile", [name for name in PROFILES if "stock" not in name])
def test_alarms_are_raised_and_cleared_in_the_self_check(profile: str) -> None:
    alarm = SelfCheck(Contents(PROFILES[profile])).column("alarm")
    for bit in (1,) if PROFILES[profile].evidence else (1, 2):
        assert {*np.diff(np.minimum(alarm & bit, 1)).tolist()} >= {1, -1}


# Whose alarm never rises, or never clears, in short stretches, or with features far from its centers.
FITS = json.loads((ROOT / "tests/fitting/same_fits.json").read_text())
HARD = {
    "standard": standard("standard, bet"),
    "paper": Params(
        classes=10,
        coef={"divergence": -0.13, "flips": 0.72, "doubt": 4.31},
        bias=-1.3,
        alarm=Alarm(0.27, AlarmSide(0.09, 23.5), AlarmSide(0.09, 1.4)),
    ),
    "gauges": SEEING,
    "standard, posteriors": standard("standard, posteriors alone"),
    "fitted": Params.from_json(json.dumps(FITS["standard, one segment, nothing marked"])),
}


@pytest.mark.parametrize("profile", first_quick(HARD))
def test_an_alarm_that_is_edited_away_or_always_on_fails_the_self_check(tmp_path: Path, profile: str) -> None:
    of, folder = HARD[profile], tmp_path / "c"
    export(of, folder)
    core, call = folder / "tcuq.c", "    alarm(m, &at, &now, own, labels, out);\n"
    text = core.read_text()
    assert text.count(call) == 1
    edits = ["", "out->alarm = 0;", "out->alarm &= 2u;", "out->alarm |= 1u;"]
    if of.alarm.fall is not None:
        edits += ["out->alarm &= 1u;", "out->alarm |= 2u;"]
    files = sorted(file.name for file in folder.glob("*.c"))
    compile = ["cc", "-std=c99"]
    subprocess.run([*compile, "-c", *files], cwd=folder, check=True)
    objects = [file.replace(".c", ".o") for file in files if file != "tcuq.c"]
    said = []
    for edit in edits:
        core.write_text(text.replace(call, f"{call}    {edit}\n"))
        subprocess.run([*compile, "tcuq.c", *objects, "-o", "try"], cwd=folder, check=True)
        done = subprocess.run(folder / "try", stdin=subprocess.DEVNULL, capture_output=True, text=True)
        said.append((done.returncode, done.stderr.partition(":")[0]))
    assert said == [(0, "self-check passed"), *[(1, "monitor_selfcheck")] * (len(edits) - 1)]


def test_the_readme_says_which_side_of_the_alarm_is_not_tried() -> None:
    """No input has a risk below the fall side of the last one."""
    wide = HARD["paper"].replace(alarm=Alarm(0.1, AlarmSide(0.09, 23.5), AlarmSide(0.09, 1.4)))
    for of, fall in ((HARD["paper"], "rises and clears"), (wide, "does **not** both rise and clear")):
        text = sources(of)["README.md"]
        assert "The rise side of the alarm rises and clears." in text
        assert f"The fall side of the alarm {fall}" in text
