"""What pages say of an alarm that sees the input: its limit, what moved, and the gauges over time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from streams import SEEN, seeing_params, seen_log

from tcuq import Monitor, Params
from tcuq.cli import main
from tcuq.io import Decisions, read_decisions, write_decisions
from tcuq.monitor.heads import Sight
from tcuq.report import describe, render

PARAMS = seeing_params()
LOG = seen_log(PARAMS)


def test_the_report_says_what_moved_and_draws_the_gauges() -> None:
    steps = Monitor(PARAMS).run(LOG)
    page = render(steps, PARAMS, LOG)
    section = page[page.index('id="seen"') :]
    assert (
        "sharpness far below the clean log" in section and f"{int((steps['moved'] == 129).sum())}" in section
    )
    assert all(f"<figcaption>{name}" in section or f">{name}<" in section for name in SEEN)
    assert section.count('class="fill envelope"') >= 2 and "input or outputs are far" in page
    other = render(steps, PARAMS, replace(LOG, gauges=None, gauge_names=None))
    assert "The gauges are not shown" in other
    plain = Params(classes=4, warmup=0)
    assert 'id="seen"' not in render(Monitor(plain).run(LOG.probs), plain)


def test_without_params_a_distance_is_not_called_evidence(tmp_path: Path) -> None:
    steps, path, out = (
        Monitor(PARAMS).run(LOG.probs, gauges=LOG.gauges),
        tmp_path / "d.csv",
        tmp_path / "r.html",
    )
    calm = steps[:1]
    assert calm["degradation"][0] > 0 and calm["moved"][0] == 255
    for rows in (steps, calm):
        write_decisions(path, Decisions(rows, sight=PARAMS.sight))
        assert read_decisions(path).sighted
        assert main(["report", str(path), "-o", str(out)]) == 0
        page = out.read_text()
        assert "evidence of a degradation" not in page and 'id="seen"' in page
    assert "evidence of a degradation" in render(np.asarray(calm))


def test_pages_name_no_gauges_where_the_alarm_reads_none() -> None:
    blind = PARAMS.replace(sight=Sight([0.3], [0.1], [[0.0]] * 4, [1.0], reach=4000))
    steps = Monitor(blind).run(LOG.probs)
    page = render(steps, blind, replace(LOG, gauges=None, gauge_names=None))
    assert "how far the outputs are from the clean log" in page
    assert "slow means of the outputs with the clean log" in page and "gauges of the input" not in page
    told = render(np.asarray(Monitor(PARAMS).run(LOG)), None, LOG)
    section = told[told.index('id="seen"') :]
    assert ">gauge<" in section and ">clean log<" not in section


def test_inspect_tells_limit_and_gauges() -> None:
    content = describe.describe_params(PARAMS)
    text = describe.render(content)
    assert "is 1.5 or more" in text and "20 ± 2" in text and "sharpness" in text
    assert content["sight"]["gauges"] == list(SEEN) and "matrix" not in content["sight"]
