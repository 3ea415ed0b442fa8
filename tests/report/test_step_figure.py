"""The picture of a run that a notebook shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import tcuq

SVG = "{http://www.w3.org/2000/svg}"


def stream(count: int) -> tcuq.Log:
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.integers(0, 3, count // 10 + 1), 10)[:count]
    shifted = (np.arange(count) // 200) % 2
    weight = np.exp(rng.normal(0, 1, (count, 3)) + np.where(shifted, 0.5, 3.0)[:, None] * np.eye(3)[truth])
    return tcuq.Log(weight / weight.sum(1, keepdims=True), labels=truth, shifted=shifted)


LOG = stream(1200)


@pytest.fixture(scope="module")
def steps() -> tcuq.Steps:
    params = tcuq.fit(LOG, run_length=100, options=tcuq.FitOptions(explain=False))
    found = tcuq.Monitor(params).run(LOG)
    assert isinstance(found, tcuq.Steps)
    return found


def words(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_with_the_log_it_shows_what_is_known(steps: tcuq.Steps) -> None:
    said = words(steps.plot(LOG, title="Door <2> & more").svg)
    assert said[0] == "Door <2> & more"
    assert {"wrong", "shift", "known shift", "true accuracy, last 200 steps"} <= set(said)
    with refused("conflict"):
        steps[:10].plot(LOG)


def test_it_stands_alone_in_light_and_dark(steps: tcuq.Steps, tmp_path: Path) -> None:
    figure = steps.plot(LOG)
    figure.save(tmp_path / "steps.svg")
    svg = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    assert svg == figure.svg and "var(" not in svg and "http" not in svg.replace("http://www.w3.org", "")
    assert "prefers-color-scheme: dark" in svg and "<script" not in svg
    rules = re.findall(r"([^{}]+)\{", svg.partition("<style>")[2].partition("</style>")[0])
    assert all(".tcuq-steps " in rule or "@media" in rule for rule in rules), (
        "nothing else of a page is styled"
    )
    with refused("value"):
        figure.save("steps.png")


def test_its_size_does_not_grow_with_the_run(steps: tcuq.Steps) -> None:
    long = np.concatenate([steps] * 50)
    assert len(tcuq.plot_steps(long).svg) < 60_000
    with refused("missing"):
        tcuq.plot_steps(steps[:0])
