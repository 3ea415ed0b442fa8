"""Figures for Prometheus, and the files for operators that name them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fleet_summaries import summary

from tcuq_watch.verdicts.metrics import TABLES, metrics, metrics_text, otlp_metrics

OPERATORS = files("tcuq_watch") / "operators"
NAMES = {prefix + name for prefix, rows in TABLES.items() for _, name, _ in rows}


def everything() -> dict[str, Any]:
    known = summary(1000, trouble=True)
    counts = ("steps", "abstained", "flagged", "alarms", "broken", "lost", "missing", "duplicates", "late")
    device: dict[str, Any] = {"counts": dict.fromkeys((*counts, "reboots", "others", "unkept"), 3)}
    values = ("risk", "threshold", "expected_accuracy", "abstention_share", "time")
    device |= {**dict.fromkeys(values, 0.5), "alarm": 1, "connected": True}
    process = {"commits": 7, "last_commit": 1.79e9, "refused": {'odd "kind"\\\n': 2}}
    return {"summary": known, "device": device, "about": {"title": "Door"}, "process": process}


def test_every_metric_can_be_written_and_none_names_a_device() -> None:
    text, typed, written = metrics_text(**everything()), set(), set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in typed and name.endswith("_total") == (kind == "counter")
            typed.add(name)
        elif not line.startswith("# HELP "):
            sample = re.fullmatch(r'([a-z_]+)(\{([a-z_]+="(\\.|[^"\\])*",?)+\})? -?[0-9.e+-]+', line)
            assert sample is not None and sample[1] in typed, line
            written.add(sample[1])
    assert written == NAMES and "sensor-" not in text and len(text) < 9000
    assert "tcuq_fleet_devices 1000\n" in text and 'tcuq_info{title="Door"} 1\n' in text
    assert 'tcuq_watch_refused_total{kind="odd \\"kind\\"\\\\\\n"} 2\n' in text
    assert 'tcuq_fleet_version_worse{version="v2"} 1\n' in text
    assert metrics_text() == ""


def test_a_collector_gets_the_same_figures_with_labels_as_they_are() -> None:
    sent = otlp_metrics(metrics(**everything()), 1, 2, "x")["resourceMetrics"][0]["scopeMetrics"][0][
        "metrics"
    ]
    shown = {metric["name"]: metric for metric in sent}
    assert shown.keys() == NAMES
    [refused] = shown["tcuq_watch_refused_total"]["sum"]["dataPoints"]
    assert refused["attributes"] == [{"key": "kind", "value": {"stringValue": 'odd "kind"\\\n'}}]
    assert refused["asDouble"] == 2 and "startTimeUnixNano" in refused
    assert "startTimeUnixNano" not in shown["tcuq_risk"]["gauge"]["dataPoints"][0]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_takes_the_rules_and_the_names() -> None:
    rules = ["promtool", "check", "rules", str(OPERATORS / "alerts.yaml")]
    assert subprocess.run(rules, capture_output=True, text=True).returncode == 0
    text = metrics_text(**everything())
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert found.returncode == 0 and not found.stdout + found.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (OPERATORS / "tcuq-fleet.service").read_text()
    here = tmp_path / "tcuq-fleet.service"
    here.write_text(unit.replace("/opt/tcuq/bin/tcuq", sys.executable))
    found = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True)
    assert found.returncode == 0 and "tcuq-fleet" not in found.stderr, found.stderr


def test_alert_rules_and_dashboard_name_what_is_written() -> None:
    yaml = pytest.importorskip("yaml")
    groups = yaml.safe_load((OPERATORS / "alerts.yaml").read_text())["groups"]
    shown = [rule["expr"] for group in groups for rule in group["rules"]]
    board = json.loads((OPERATORS / "dashboard.json").read_text())
    shown += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(shown) > 15
    for expression in shown:
        names = set(re.findall(r"\btcuq_[a-z_]+", expression))
        assert names and names <= NAMES, expression
