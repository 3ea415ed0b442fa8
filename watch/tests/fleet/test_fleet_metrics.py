"""Figures for Prometheus, and the files for operators that name them."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fleet_summaries import summary

from tcuq_watch.verdicts.metrics import NAMES, metrics_text, process_of

OPERATORS = files("tcuq_watch") / "operators"
SAMPLE = re.compile(r'([a-z_]+)(\{([a-z_]+="(\\.|[^"\\])*",?)+\})? -?[0-9.e+-]+')


def written(text: str) -> set[str]:
    """Names of all samples, each told of once before it comes."""
    told: dict[str, str] = {}
    found = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in told and name.endswith("_total") == (kind == "counter")
            told[name] = kind
        elif not line.startswith("# HELP "):
            sample = SAMPLE.fullmatch(line)
            assert sample is not None and sample[1] in told, line
            found.add(sample[1])
    return found


def everything() -> str:
    known = summary(100_000, trouble=True)
    known["refused"] = {'odd "kind"\\\n': 3}
    known["alarm"] |= {"unhealthy": True, "p_always": 1e-9}
    known["rollouts"] = [{"version": "v2", "worse": True, "p_always": 0.001}]
    counts = ("steps", "abstained", "flagged", "alarms", "broken", "lost", "missing", "duplicates", "late")
    device: dict[str, Any] = {"counts": dict.fromkeys((*counts, "reboots", "others", "unkept"), 3)}
    values = ("risk", "threshold", "expected_accuracy", "abstention_share", "time")
    device |= {**dict.fromkeys(values, 0.5), "alarm": 1, "connected": True}
    process = {"commits": 7, "last_commit": 1.79e9, "refused": {"not JSON": 2}, "connected": False}
    return metrics_text(known, device, {"title": "Door"}, process)


def test_every_metric_can_be_written_and_none_names_a_device() -> None:
    text = everything()
    assert written(text) == NAMES
    assert "sensor-" not in text and len(text) < 9000
    assert "tcuq_fleet_devices_in_alarm 4100\n" in text and 'tcuq_info{title="Door"} 1\n' in text
    assert 'tcuq_fleet_refused_total{kind="odd \\"kind\\"\\\\\\n"} 3\n' in text
    assert 'tcuq_fleet_version_worse{version="v2"} 1\n' in text and "tcuq_watch_connected 0\n" in text
    assert metrics_text() == ""


def test_the_folder_tells_of_the_last_commit(tmp_path: Path) -> None:
    assert process_of(tmp_path, 0, {})["last_commit"] is None
    for name in ("fleet.sqlite", "LOCK", "alerts.json"):
        (tmp_path / name).write_text("1")
    assert process_of(tmp_path, 5, {})["last_commit"] == (tmp_path / "fleet.sqlite").stat().st_mtime


def named_in(expression: str) -> set[str]:
    return set(re.findall(r"\btcuq_[a-z_]+", expression))


def test_alert_rules_name_what_is_written() -> None:
    yaml = pytest.importorskip("yaml")
    groups = yaml.safe_load((OPERATORS / "alerts.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 8
    for rule in rules:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert named_in(rule["expr"]) and named_in(rule["expr"]) <= NAMES, rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical") and rule["annotations"]["summary"]
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_the_dashboard_has_what_grafana_needs_and_names_what_is_written() -> None:
    board = json.loads((OPERATORS / "dashboard.json").read_text())
    assert {"title", "uid", "schemaVersion", "version", "time", "templating", "panels"} <= set(board)
    assert [each["name"] for each in board["templating"]["list"]] == ["source"]
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert not cells & taken and max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["type"] in ("stat", "timeseries") and panel["datasource"]["uid"] == "${source}"
        assert len({each["refId"] for each in panel["targets"]}) == len(panel["targets"]) >= 1
        for target in panel["targets"]:
            assert named_in(target["expr"]) and named_in(target["expr"]) <= NAMES, panel["title"]
