"""What pages say of an alarm that sees the input: its limit, what moved, and the gauges over time."""

from __future__ import annotations

from dataclasses import replace

from streams import SEEN, seeing_params, seen_log

from tcuq import Monitor, Params
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


def test_inspect_tells_limit_and_gauges() -> None:
    content = describe.describe_params(PARAMS)
    text = describe.render(content)
    assert "is 1.5 or more" in text and "20 ± 2" in text and "sharpness" in text
    assert content["sight"]["gauges"] == list(SEEN) and "matrix" not in content["sight"]
