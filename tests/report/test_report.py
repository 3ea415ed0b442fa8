from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devtools import chromium
from PIL import Image
from refusals import refused
from report_logs import dwell_log, params_for
from report_pages import check_whole, driven, opened, packed, unpack, value

from tcuq import SIGNALS, STEP_DTYPE, Feedback, Log, Params
from tcuq.log.quantize import quantize_probs
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.report import render, summary, write_report
from tcuq.report.outcome import left_out
from tcuq.report.page import asset
from tcuq.report.summary import Check


@pytest.fixture(scope="module")
def params() -> Params:
    return params_for(dwell_log(5000))


@pytest.fixture(scope="module")
def case(params: Params) -> tuple[Params, Log, Any, Any, str]:
    log = dwell_log(5000, seed=3)
    decisions, signals = run_over(Monitor(params), log, signals=True)
    return params, log, decisions, signals, render(decisions, params, log, title="Door")


def steps_of(risk: Any, **fields: Any) -> Any:
    decisions = np.zeros(len(risk), dtype=STEP_DTYPE)
    decisions["risk"], decisions["threshold"], decisions["reason"] = risk, 0.5, 255
    for name, values in fields.items():
        decisions[name] = values
    return decisions


def test_numbers_equal_those_computed_by_hand(case: Any) -> None:
    _, log, decisions, _, page = case
    check_whole(page)
    right = [int(d["prediction"]) == int(y) for d, y in zip(decisions, log.labels, strict=True)]
    made: dict[str, list[bool]] = {"act": [], "ask": [], "hold": []}
    for r, d in zip(right, decisions, strict=True):
        made["hold" if d["alarm"] else "ask" if d["abstain"] else "act"].append(r)
    assert value(page, "steps") == "5,000"
    assert value(page, "all-accuracy") == f"{100 * sum(right) / 5000:.1f} %"
    for name, hits in made.items():
        assert value(page, name) == f"{100 * len(hits) / 5000:.1f} %"
        assert value(page, f"{name}-accuracy") == f"{100 * sum(hits) / len(hits):.1f} %"
        assert value(page, f"{name}-right") == f"{sum(hits):,}"
    starts = sum(1 for a, b in zip([0, *decisions["alarm"]], decisions["alarm"], strict=False) if b and not a)
    assert f"alarm raised {starts} times" in page and "limit 15\u00a0%" in page
    act, wrong = len(made["act"]), 100 * (1 - np.mean(made["act"]))
    sure = np.argsort(-quantize_probs(log.probs).max(1).astype(int), kind="stable")[:act]
    assert value(page, "verdict") == (
        f"Acted on {value(page, 'act')} of 5,000 steps: {wrong:.1f} % of those were wrong. The model alone: "
        f"{100 * log.errors().mean():.1f} % wrong; its confidence at the same share: "
        f"{100 * log.errors()[sure].mean():.1f} % (limit chosen afterwards)."
    )
    # The dots stand where the headline says, at one share; no line that speaks of accepted steps is left.
    assert f"tcuq as run: {value(page, 'act')} acted on, {wrong:.1f} % wrong" in page.replace("\u00a0", " ")
    text = re.sub(r"<script.*?</script>|<style>.*?</style>", "", page, flags=re.S)
    assert not re.search("accepted|abstained|kept steps", text)


def test_rates_and_bounds(case: Any) -> None:
    params, _, decisions, _, page = case
    assert value(page, "flag-rate") == f"{100 * decisions['flagged'].mean():.2f} %"
    assert value(page, "flag-bound") == f"{100 * params.flag_bound(5000):.2f} %"
    assert value(page, "flag-kept") == "kept at every step"
    debts = np.cumsum(decisions["flagged"] - 0.1)
    assert value(page, "debt") == f"{debts.min():.1f} to {debts.max():.1f}"
    for n in (1, 10, 200, 5000):
        sums = [int(decisions["abstain"][k : k + n].sum()) for k in range(5000 - n + 1)]
        assert value(page, f"window-{n}") == f"{max(sums):,}"
    assert "NOT kept" not in page


def test_abstentions_for_errors_are_not_held_against_the_budget() -> None:
    head = Feedback(max_error=0.05, reference=0.01)
    params = Params(classes=2, budget=0.05, feedback=head)
    page = render(Monitor(params).run(np.full((200, 2), 0.5)), params)
    assert "limit 5\xa0%, but for errors" in page and "Abstentions may exceed the budget" in page
    assert "NOT kept" not in page and value(page, "window-100") == "100"


def test_a_resumed_monitor_is_numbered_on_and_held_against_the_window_bound(case: Any) -> None:
    params, log, decisions, signals, whole = case
    debts = np.cumsum(decisions["flagged"] * 10 - 1)
    cut = (
        int(debts[1000:3000].argmin()) + 1001
    )  # right after the lowest debt: from here on it can only look high
    rest, part = decisions[cut:], log.take(slice(cut, 5000))
    page = render(rest, params, part, signals[cut:], first=cut)
    check_whole(page)
    assert value(page, "flag-kept") == "kept in every window"
    assert f"begins at step {cut:,} of a monitor that had run before" in page
    low, high = params.debt_bounds
    assert value(page, "debt-bounds") == f"{low - high:.1f} to {high - low:.1f}"
    assert value(page, "flag-bound") == f"{100 * min(0.9, (high - low) / len(rest)):.2f} %"
    assert packed(page)["first"] == cut and packed(whole)["first"] == 0
    found = summary.response(rest["alarm"], part)
    assert found is not None
    start, end = found.delays[-1].start + cut, found.delays[-1].end + cut - 1
    assert f"{start:,} \u2013 {end:,}" in page
    # Ticks of the figures that need no script stand at round numbers of the monitor's own count.
    ticks = re.findall(r'class="x-ticks"[^>]*>(.*?)</div>', page)
    assert any(">4,000<" in row and ">1,000<" not in row for row in ticks)
    assert "its past is not in this log" in render(rest, params, part, first=cut)
    flags = np.zeros(400, dtype=bool)
    flags[200:] = True
    assert summary.flag_rate(flags, params, 7).kept is False
    with refused("value", "first"):
        render(rest, first=-1)


def test_a_resumed_log_at_the_edge_of_its_window() -> None:
    params = Params(classes=3)
    low, high = params.debt_bounds
    # From the lowest debt to the highest is possible after a resume, and impossible from a fresh start.
    most = int((high - low) / 0.9)
    flags = np.ones(most, dtype=bool)
    assert summary.flag_rate(flags, params, 1).kept and not summary.flag_rate(flags, params).kept
    assert not summary.flag_rate(np.ones(most + 1, dtype=bool), params, 1).kept


def test_a_stream_of_other_parameters_is_told(case: Any) -> None:
    params, log, decisions, _, _ = case
    page = render(decisions, params.replace(level=0.01, budget=0.001, burst=1), log)
    assert value(page, "flag-kept").startswith("NOT kept")
    assert "signals" in packed(page)
    page = render(decisions, params.replace(bias=1.0), log)
    assert "do not give this risk" in page and "signals" not in packed(page)


def test_curves_and_calibration(case: Any) -> None:
    _, log, decisions, _, page = case
    wrong = decisions["prediction"] != log.labels
    top = log.probs.max(axis=1).astype(float)

    def area(score: Any) -> float:
        rates: list[float] = []
        errors = 0.0
        for group in np.unique(score):
            hits = wrong[score == group]
            for _ in hits:
                errors += hits.mean()
                rates.append(errors / (len(rates) + 1))
        return float(np.mean(rates))

    assert value(page, "aurc") == f"{area(decisions['risk']):.4f}"
    assert value(page, "aurc-plain") == f"{area(1 - top):.4f}"
    gaps = 0.0
    for k in range(15):
        inside = (top > k / 15) & (top <= (k + 1) / 15)
        if inside.any():
            gaps += abs((~wrong[inside]).mean() - top[inside].mean()) * inside.mean()
    assert value(page, "ece") == f"{gaps:.4f}"


def test_reasons(case: Any) -> None:
    _, _, decisions, _, page = case
    codes = decisions["reason"][decisions["abstain"] & (decisions["alarm"] == 0)]
    for code in np.unique(codes):
        name = SIGNALS[code] if code < len(SIGNALS) else "none"
        assert value(page, f"reason-{name}") == f"{int((codes == code).sum()):,}"
    assert "No step asks" in render(steps_of([0.1, 0.2]))


def test_delays_and_false_alarms_by_hand() -> None:
    alarm = np.zeros(100, dtype=np.uint8)
    alarm[3:6] = 1  # false
    alarm[14:25] = 1  # 4 after the shift at 10
    alarm[45:52] = 2  # false, and still there at the shift at 50
    alarm[80] = 3  # at once
    shifted = np.zeros(100, dtype=bool)
    for start, end in ((10, 20), (30, 40), (50, 60), (80, 100)):
        shifted[start:end] = True
    segments = np.where(np.arange(100) < 90, 0, 1)  # cuts the last shift in two
    log = Log(np.full((100, 2), 0.5), segments=segments, shifted=shifted)
    found = summary.response(alarm, log)
    assert found is not None
    told = [(d.start, d.end, d.outcome, d.steps) for d in found.delays]
    assert told == [
        (10, 20, "in time", 4),
        (30, 40, "missed", None),
        (50, 60, "on from before", None),
        (80, 90, "in time", 0),
        (90, 100, "missed", None),
    ]
    assert (found.median, found.false_alarms, found.clean_steps) == (2.0, 2, 50)
    page = render(steps_of(np.full(100, 0.2), alarm=alarm), log=log)
    assert value(page, "shifts-found") == value(page, "found") == "2 of 4"
    assert "within 100 steps; 2 missed, 1 on from before" in page and value(page, "delay") == "2"
    assert value(page, "false-rate") == "40.00"
    check_whole(page)


def test_a_shift_is_found_in_time_late_or_missed_and_an_alarm_may_be_without_harm() -> None:
    """A late alarm is no find, and an alarm for a shift that costs less than 5 points is none either."""
    kinds, names = np.repeat([0, 1, 0, 2, 0, 3, 0, 4, 0], 300), ("fog", "rain", "dusk", "dirt")
    alarm = np.zeros(2700, dtype=np.uint8)
    for start, delay in ((300, 100), (900, 101), (1500, 5)):
        alarm[start + delay : start + 300] = 1
    labels = np.where(np.isin(kinds, [1, 2, 4]) | (np.arange(2700) % 25 == 0), 1, 0)
    probs, steps = np.tile([0.75, 0.25], (2700, 1)), steps_of(np.full(2700, 0.2), alarm=alarm)
    page = render(steps, log=Log(probs, labels=labels, shifted=kinds, shift_names=names))
    assert value(page, "found") == "1 of 3"
    assert "within 100 steps; 1 late, 1 missed, 1 alarm without harm" in page
    rows = dict(
        re.findall(r'<tr><th scope="row">(\w+)</th>(?:(?!</tr>).)*?data-label="held">([^<]*)</td>', page)
    )
    assert list(rows) == ["fog", "rain", "dirt", "dusk", "clean"], "harmful ones, harmless ones, clean steps"
    assert re.findall("<span>((?:after|missed|not held)[^<]*)</span>", page) == [
        "after 100", "after 101", "after 5, no harm", "missed",
    ]  # fmt: skip
    told = {"fog": "1 in time", "rain": "1 late", "dusk": "1 alarm without harm", "dirt": "1 missed"}
    assert rows == told | {"clean": ""}
    # Without labels nobody knows what does harm.
    blind = render(steps, log=Log(probs, shifted=kinds, shift_names=names))
    assert value(blind, "found") == "2 of 4" and "without labels, all count as harmful" in blind


def test_the_axis_stands_beside_its_area_and_rows_stay_low_on_a_phone(tmp_path: Path, case: Any) -> None:
    (tmp_path / "page.html").write_text(case[-1], encoding="utf-8")
    browser = chromium()
    tab = browser.tab()
    tab.open((tmp_path / "page.html").as_uri())
    tab.wait("document.documentElement.dataset.ready")
    boxes = "map((each) => each.getBoundingClientRect().toJSON())"
    places = f"(query) => [...document.querySelectorAll(query)].{boxes}"
    ticks, [area] = (tab.js(f"({places})('#acted .course {name}')") for name in (".y-ticks span", ".area"))
    tab.size(390, 800)
    rows = tab.js(f"({places})('#acted tbody :is(tr, td)')")
    wide = tab.js("document.documentElement.scrollWidth")
    browser.close()
    assert wide == 390 and len(rows) > 10, "a card for each kind of input"
    assert all(row["left"] >= 0 and row["right"] <= 390 for row in rows), "nothing is cut off"
    middles = [tick["y"] + tick["height"] / 2 for tick in ticks]
    ends = [area["bottom"], (area["bottom"] + area["top"]) / 2, area["top"]]
    assert middles == pytest.approx(ends, abs=1)


@pytest.mark.parametrize("state", ["ask", "hold", "rise", "fall", "hot"])
def test_no_state_that_warns_is_green(state: str) -> None:
    found = re.findall(rf"--{state}: #(..)(..)(..)", asset("report.css"))
    assert len(found) == 2, "light and dark"
    assert all(int(green, 16) < max(int(red, 16), int(blue, 16)) for red, green, blue in found)


def test_a_verdict_that_warns_looks_so(case: Any) -> None:
    params, log, decisions, signals, plain = case
    good = Check("answers", "OK", "better than confidence", "")
    bad = Check("alarm", "FAIL", "found 0 of 3", "record <more>")
    warned = render(decisions, params, log, signals, checks=[good, bad])
    assert (
        '<header class="warned">' in warned and '<div class="check fail"><dt><b>FAIL</b> alarm</dt>' in warned
    )
    assert "<dd>found 0 of 3<br><i>record &lt;more&gt;</i></dd>" in warned and "<dd>better than" in warned
    for page in (plain, render(decisions, params, log, signals, checks=[good])):
        assert "<header>" in page and 'class="check fail"' not in page


def test_pictures_are_part_of_the_page(case: Any) -> None:
    params, log, decisions, _, plain = case
    gray = np.arange(28 * 28, dtype=np.uint8).reshape(28, 28)
    names = dict.fromkeys(("clean", *(log.shift_names or ("shift 1", "shift 2"))), gray)
    page = render(decisions, params, log, pictures=names)
    check_whole(page)
    shown = re.findall(r'<img alt="[^"]*" src="data:image/png;base64,([^"]*)">', page)
    assert shown and "img-src data:" in page and "img-src" not in plain and "<img" not in plain
    with Image.open(io.BytesIO(base64.b64decode(shown[0]))) as picture:
        np.testing.assert_array_equal(np.asarray(picture), gray)


def test_kinds_of_shift_are_told_apart() -> None:
    """A kind that is missed beside one that is found counts as missed, and there is no median of a few."""
    kinds = ["", *["noise"] * 20, *["axes swapped"] * 20, "clean", *["fog"] * 20]
    alarm = np.zeros(len(kinds), dtype=np.uint8)
    alarm[5:15] = 1
    log = Log(np.full((len(kinds), 2), 0.5), shifted=kinds)
    found = summary.response(alarm, log)
    assert found is not None and [d.kind for d in found.delays] == ["noise", "axes swapped", "fog"]
    assert [d.steps for d in found.delays] == [4, None, None]
    assert (found.found.hits, found.found.of, found.median) == (1, 3, None)
    assert {kind: part.median for kind, part in found.by_kind().items()}["noise"] == 4
    page = render(steps_of(np.full(len(kinds), 0.2), alarm=alarm), log=log)
    assert value(page, "found") == "1 of 3" and "axes swapped" in page
    assert packed(page)["stretches"] == [[1, 21, "noise"], [21, 41, "axes swapped"], [42, 62, "fog"]]
    check_whole(page)
    for marks, lines in (([0, 1, 1, 0], 0), ([0, 1, 2, 0], 1), ([1, 0, 0, 1], 0)):
        short = render(steps_of(np.full(4, 0.2)), log=Log(np.full((4, 2), 0.5), shifted=marks))
        assert short.count('class="line border"') == lines, "a line where one kind follows another"


def test_packed_data_decode_to_the_decisions(case: Any) -> None:
    params, log, decisions, signals, page = case
    content = packed(page)
    assert content["steps"] == 5000 and content["per"] == 1
    assert np.array_equal(unpack(content["risk"], "<u2") / 65536, decisions["risk"])
    limit = np.clip(np.rint(decisions["threshold"] * 65536), 0, 65535)
    assert np.array_equal(unpack(content["threshold"], "<u2"), limit)
    assert np.array_equal(unpack(content["reason"], "u1"), decisions["reason"])
    assert np.array_equal(unpack(content["prediction"], "u1"), decisions["prediction"])
    flags = unpack(content["flags"], "u1")
    assert np.array_equal((flags & 2) != 0, decisions["abstain"] & (decisions["alarm"] == 0))
    for bit, name in ((1, "flagged"), (16, "warming_up"), (32, "low_mass")):
        assert np.array_equal((flags & bit) != 0, decisions[name]), name
    assert np.array_equal((flags >> 2) & 3, decisions["alarm"])
    assert np.array_equal((flags & 64) != 0, log.shifted)
    assert np.flatnonzero(flags & 128).tolist() == [1250, 2500, 3750]
    wrong = np.unpackbits(unpack(content["wrong"], "u1"), bitorder="little")[:5000]
    assert np.array_equal(wrong != 0, decisions["prediction"] != log.labels)
    rows = content["signals"]["rows"]
    assert [row["name"] for row in rows] == list(params.signals)
    for row in rows:
        values = signals[:, SIGNALS.index(row["name"])]
        assert np.abs(unpack(row["mean"], "u1") / 255 - values).max() <= 0.5 / 255 + 1e-9


def test_100000_steps_are_small_quick_and_exact(params: Params) -> None:
    log = dwell_log(100_000)
    decisions = run_over(Monitor(params), log)
    start = time.process_time()
    page = render(decisions, params, log)
    assert time.process_time() - start < 3
    assert len(page.encode()) < 2_000_000
    check_whole(page)
    content = packed(page)
    assert np.array_equal(unpack(content["risk"], "<u2") / 65536, decisions["risk"])
    signals = content["signals"]
    assert signals["per"] == 13
    _, values = run_over(Monitor(params), log, signals=True)
    part = np.rint(values[13:26, 3] * 255)
    row = signals["rows"][3]
    assert unpack(row["low"], "u1")[1] == part.min() and unpack(row["high"], "u1")[1] == part.max()


def test_a_million_steps_are_kept_as_cells() -> None:
    steps = 1_000_000
    rng = np.random.default_rng(1)
    decisions = steps_of(rng.integers(0, 65536, steps) / 65536, abstain=rng.random(steps) < 0.03)
    page = render(decisions)
    assert len(page.encode()) < 2_000_000
    check_whole(page)
    content = packed(page)
    assert content["per"] == 20
    words = (decisions["risk"] * 65536).astype(int).reshape(-1, 20)
    assert np.array_equal(unpack(content["risk_low"], "<u2"), words.min(axis=1))
    assert np.array_equal(unpack(content["risk_high"], "<u2"), words.max(axis=1))
    counts = np.rint(unpack(content["ask_share"], "u1") / 255 * 20)
    assert np.array_equal(counts, decisions["abstain"].reshape(-1, 20).sum(axis=1))


@pytest.mark.parametrize("steps", [1, 2, 3, 29, 300, 501])
def test_short_streams(params: Params, steps: int) -> None:
    log = dwell_log(steps)
    decisions, signals = run_over(Monitor(params), log, signals=True)
    check_whole(render(decisions, params, log, signals))
    check_whole(render(decisions))
    check_whole(render(decisions, params))
    check_whole(render(decisions, None, Log(log.probs)))
    check_whole(render(decisions, None, log, signals))


def test_extreme_values_stay_finite() -> None:
    decisions = steps_of([0.0, 65535 / 65536, 0.5], threshold=[-40.0, 300.0, 1.0], flagged=[1, 0, 0])
    decisions["prediction"] = [0, 999, 300]
    page = render(decisions, log=Log(np.full((3, 1000), 0.001, dtype=np.float32), labels=np.full(3, -1)))
    check_whole(page)
    content = packed(page)
    assert unpack(content["threshold"], "<u2").tolist() == [0, 65535, 65535]
    assert unpack(content["prediction"], "<u2").tolist() == [0, 999, 300]
    assert value(page, "all-accuracy") == "0.0 %"


def test_labels_below_zero_are_errors(case: Any) -> None:
    _, log, decisions, _, _ = case
    labels = log.labels.copy()
    labels[::2] = -1
    page = render(decisions, log=Log(log.probs, labels=labels))
    assert value(page, "all-right") == f"{int((decisions['prediction'] == log.labels)[1::2].sum()):,}"


def test_what_is_missing_is_left_out_and_said(case: Any) -> None:
    params, log, decisions, _, _ = case
    bare = render(decisions)
    assert "which were not given" in bare and "aim " not in value(bare, "verdict")
    for name in ("signals", "labels", "delays"):
        assert f'id="{name}"' not in bare
    assert "<h2>Settings" not in bare and "wrong" not in packed(bare)
    # Nor is a rule of the alarm stated where it is not known.
    timelines = [re.search(r'id="timeline".*?id="range"', each, re.S) for each in (bare, case[-1])]
    stated = ["frozen reference" in each[0] or "adds up evidence" in each[0] for each in timelines if each]
    assert stated == [False, True]
    unlabeled = render(decisions, params, Log(log.probs, log.features, None, log.segments, log.shifted))
    assert 'id="delays"' in unlabeled and 'id="labels"' not in unlabeled and 'id="signals"' in unlabeled
    assert "does not have the inputs" in render(decisions, params, Log(log.probs, labels=log.labels))


def test_text_is_escaped(case: Any) -> None:
    params, log, decisions, _, _ = case
    evil = "</title><script>alert('x')</script>\"&"
    page = render(decisions, params.replace(notes={"<i>": "</td><script>y()</script>"}), log, title=evil)
    assert "<script>alert" not in page and "<script>y()" not in page and "<i>:" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&amp;" in page
    check_whole(page)


def test_scripts_cannot_end_their_element(case: Any) -> None:
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", case[-1], re.S)
    assert len(scripts) == 4
    assert all("<!--" not in text and "<script" not in text for text in scripts)


def test_refusals(case: Any) -> None:
    params, log, decisions, signals, _ = case
    with refused("missing"):
        render(decisions[:0])
    with refused("value"):
        render(np.zeros(3))
    with refused("value"):
        render(steps_of([0.1, np.nan]))
    with refused("conflict"):
        render(decisions[:10], params, log)
    with refused("value"):
        render(decisions, signals=signals[:, :3])
    with refused("value"):
        render(decisions, signals=np.full(signals.shape, np.nan))
    with refused("value", "params"):
        render(decisions, {})  # type: ignore[arg-type]
    with refused("value", "log"):
        render(decisions, log=[])  # type: ignore[arg-type]


def test_write_report(tmp_path: Path, case: Any) -> None:
    params, log, decisions, signals, page = case
    assert render(decisions, params, log, signals, "Door") == page
    write_report(tmp_path / "report.html", decisions, params, log, title="Door")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_the_policy_lists_every_script_and_the_style(case: Any) -> None:
    page = case[-1]
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert found and page.index(found[0]) < page.index("<style") < page.index("<script")
    policy = dict(part.split(" ", 1) for part in found[1].split("; "))
    assert policy["default-src"] == "'none'" and "unsafe" not in policy["script-src"]
    texts = re.findall(r"<script>(.*?)</script>", page, re.S)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    assert policy["script-src"] == " ".join(f"'sha256-{text}'" for text in hashes) and len(hashes) == 3
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert style is not None
    text = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy["style-src-elem"] == f"'sha256-{text}'"
    # No handler in an attribute, which the policy would forbid, and nothing that is fetched.
    drawn = re.sub(r"<script.*?</script>|<style>.*?</style>", "", page, flags=re.S)
    assert not re.search(r"<[^>]* on[a-z]+=", drawn) and not re.search(r"<(link|img|iframe|object)\b", drawn)


def test_the_policy_stops_a_script_that_is_not_of_the_page(tmp_path: Path, case: Any) -> None:
    page = case[-1].replace("</body>", "<script>document.documentElement.dataset.foreign = 1</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    tag = opened(tmp_path / "page.html")
    assert 'data-ready="1"' in tag and "data-foreign" not in tag


@pytest.mark.cases(1)
@pytest.mark.parametrize("steps", [5000, 1, 210_000])
def test_page_in_a_browser(tmp_path: Path, case: Any, steps: int) -> None:
    params, log, decisions, _, page = case
    if steps == 1:
        page = render(decisions[:1], params, log.take(slice(0, 1)))
    if steps > 5000:
        page = render(np.tile(decisions, steps // 5000), first=1_000_000)
    (tmp_path / "page.html").write_text(driven(page), encoding="utf-8")
    tag = opened(tmp_path / "page.html")
    assert 'data-ready="1"' in tag and "data-error" not in tag, tag
    assert 'data-drawn="true"' in tag
    seen = json.loads(re.search(r'data-seen="(\[\[.*?\]\])"', tag)[1])  # type: ignore[index]
    whole = [0, steps - 1]
    number = 1_000_000 if steps > 5000 else 0
    shown = f"Steps {number:,}\u2013{number + steps - 1:,} ({steps:,} of {steps:,})"
    assert f'data-range="{shown}"' in tag
    start, wheel, double, dragged, closer, reset, alarm, again = seen
    assert start == double == reset == again == whole
    if steps == 1:
        assert wheel == dragged == whole
        return
    assert 0 < wheel[0] < wheel[1] < steps - 1
    assert 0 < dragged[0] < dragged[1] < steps - 1
    assert closer[1] - closer[0] < dragged[1] - dragged[0]
    if steps == 5000:
        assert any(alarm[0] < t <= alarm[1] for t in summary.onsets(decisions["alarm"]))


def test_a_log_of_another_stream_is_refused() -> None:
    params = Params(classes=10)
    rng = np.random.default_rng(3)
    probs, other = rng.dirichlet(np.ones(10) / 4, (2, 300))
    steps = Monitor(params).run(probs)
    assert render(steps, params=params, log=Log(probs))
    with refused("conflict"):
        render(steps, params=params, log=Log(other))


def test_kinds_that_the_fit_left_out_are_shown_by_name_whatever_the_notes_hold():
    row = {"stretches": 3, "found": 2, "delay": 12.0, "on": 0.5}
    told = {"found": 1, "kinds": 2, "on_shifted": 0.4, "on_clean": 0.01}
    page = left_out({"left_out": {**told, "by_kind": {"f<o>g": row, "dust": {"delay": None}, "rain": 3}}})
    assert "f&lt;o&gt;g" in page and ">50.0" in page and "1 of 2 types" in page and "dust" in page
    for junk in (None, 3, {}, {"left_out": None}, {"left_out": {"by_kind": [1]}}, {"left_out": told}):
        assert left_out(junk) == ""
