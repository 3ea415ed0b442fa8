"""What a running fleet tells: which troubles, when, at what cost; and groups of devices."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from receivers import receiver
from refusals import refused

from tcuq import Params
from tcuq.cli import main
from tcuq_watch.verdicts import alerts as alerts_module
from tcuq_watch.verdicts.alerts import Alerts, fleet_messages
from tcuq_watch.verdicts.groups import NONE, read_tags


def test_of_any_troubles_the_right_messages_are_sent(tmp_path: Path) -> None:
    """Whatever comes and goes, and whenever the process is started again."""
    rng, now = random.Random(0), 0.0
    options: Any = {"hold_off": 300.0, "remind": 3600.0, "clock": lambda: now}
    alerts = Alerts(tmp_path / "a.json", **options)
    last: dict[str, tuple[str, float]] = {}
    troubled: set[str] = set()
    for _ in range(400):
        now += rng.choice((1.0, 60.0, 400.0))
        troubled ^= {name for name in "abc" if rng.random() < 0.2}
        if rng.random() < 0.05:
            alerts = Alerts(tmp_path / "a.json", **options)
        found = {name: event for event, names in alerts.look("x", troubled).items() for name in names}
        for name in "abc":
            before, when = last.get(name, ("cleared", -1e9))
            told, expected = before != "cleared", None
            if name not in troubled:
                expected = "cleared" if told else None
            elif now - when >= (3600 if told else 300):
                expected = "reminder" if told else "alarm"
            assert found.get(name) == expected
            if expected is not None:
                last[name] = expected, now
    (tmp_path / "a.json").write_text("[1]")
    assert Alerts(tmp_path / "a.json", **options).look("x", "a") == {"alarm": ["a"]}


def test_a_clock_that_was_set_back_holds_no_alarm_off() -> None:
    now = 1e9
    alerts = Alerts(clock=lambda: now)
    assert [alerts.look("x", names) for names in ("a", "", "a")] == [{"alarm": ["a"]}, {"cleared": ["a"]}, {}]
    now = 0.0
    assert alerts.look("x", "a") == {"alarm": ["a"]}


def test_messages_of_a_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    silent, named = set[str](), set[str]()
    view = SimpleNamespace(silent=0, named=1, called=lambda which: (silent, named)[which])
    monkeypatch.setattr(alerts_module, "by_version", lambda *_: [view])
    alarm = {"devices": 3, "of": 50, "unhealthy": True}
    alerts, summary = Alerts(), {"time": None, "alarm": alarm, "devices": 60}

    def sent(silence: bool = True) -> list[tuple[Any, ...]]:
        messages = fleet_messages(alerts, {}, summary, silence)
        return [(m["event"], m["kind"], m["devices"], m["count"], m["text"]) for m in messages]

    assert sent() == [("alarm", "unhealthy", [], 1, "unhealthy: the fleet")]
    alarm["unhealthy"] = False
    silent, named = {"s"}, {f"d{number:02}" for number in range(25)}
    [over, degraded] = sent(silence=False)
    assert over[:2] == ("cleared", "unhealthy") and degraded[:2] == ("alarm", "degraded")
    assert len(degraded[2]) == 20 and degraded[3] == 25 and degraded[4].endswith("d19 and 5 more")
    silent, named = {"s", "d00"}, set()  # a device that says nothing has not recovered
    [recovered, quiet] = sent()
    assert recovered[:2] == ("cleared", "degraded") and recovered[3] == 24 and "d00" not in recovered[2]
    assert quiet == ("alarm", "silent", ["d00", "s"], 2, "silent: d00, s")


def events(path: str, rows: list[tuple[str, int, float]]) -> str:
    lines = [{"device": d, "seq": s, "time": 1.7e9 + t, "probs": [0.5, 0.25, 0.25]} for d, s, t in rows]
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Params(classes=3, warmup=0).save("m.json")
    hours = [(d, s, 600.0 * s) for s in range(13) for d in ("a", "b") if d == "a" or s < 3]
    events("e.jsonl", hours)
    return tmp_path


def test_a_run_tells_who_falls_silent_and_is_heard_again(work: Path) -> None:
    with receiver() as server:
        order = ["--folder", "f", "--quiet", "--webhook", f"{server.url}/x", "--otlp", server.url]
        assert main(["fleet", "run", "m.json", "e.jsonl", *order]) == 0
        assert main(["fleet", "run", "m.json", "e.jsonl", *order]) == 0
        [silent] = server.bodies()
        assert [silent[key] for key in ("event", "kind", "devices", "of")] == ["alarm", "silent", ["b"], 2]
        assert silent["folder"] == "f" and silent["text"] == "silent: b" and silent["sent"] > 1.7e9
        events("more.jsonl", [("b", 3, 7300.0)])
        assert main(["fleet", "run", "m.json", "more.jsonl", *order]) == 0
        assert [(each["event"], each["devices"]) for each in server.bodies()[1:]] == [("cleared", ["b"])]
        metrics = server.bodies("/v1/metrics")[-1]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert {m["name"]: m for m in metrics}["tcuq_fleet_devices"]["gauge"]["dataPoints"][0]["asDouble"] == 2


def status(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    capsys.readouterr()
    assert main(["fleet", "status", "f", *args]) == 0
    return capsys.readouterr().out


def test_a_table_by_group(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Params(classes=3, warmup=0, budget=0.05).save("new.json")
    fingerprint = Params.load("m.json").fingerprint
    assert main(["fleet", "run", "m.json", "e.jsonl", "--folder", "f", "--quiet"]) == 0
    rows = [("b", 0, 7200.0), ("=c", 0, 7200.0), ("d", 0, 0.0)]
    text = Path(events("n.jsonl", rows)).read_text().replace('"seq"', '"version": "new", "seq"')
    Path("n.jsonl").write_text(text)
    both = [f"{fingerprint}=m.json", "new=new.json"]
    assert main(["fleet", "run", *both, "n.jsonl", "--folder", "f", "--quiet", "--flush"]) == 0
    Path("t.csv").write_text("site,device,batch\nnorth,a,1\nnorth,b,2\n'=HYPERLINK(),'=c,\x1b[2J\n")
    groups = json.loads(status(capsys, "--tags", "t.csv", "--json"))["groups"]
    assert groups["by"] == "site"
    found = {row.pop("group"): row for row in groups["rows"]}
    counted = {name: (row["devices"], row["silent"]) for name, row in found.items()}
    assert counted == {"north": (2, 0), "=HYPERLINK()": (1, 0), NONE: (1, 1)}  # b moved: it is not silent
    assert found["north"]["recent_risk"] > 0 and found[NONE]["recent_risk"] is None
    shown = status(capsys, "--tags", "t.csv", "--by", "batch")
    assert "\x1b" not in shown and "\\x1b[2J" in shown and "batch" in shown and "degraded" in shown


def test_files_of_tags_that_cannot_be_right(tmp_path: Path) -> None:
    wrong = {"missing": "name,site\n", "unknown": "device,batch\na,1\n", "damaged": "\xff"}
    for code, text in (wrong | {"conflict": "device,site\na,1\nb,1\na,2\n"}).items():
        (tmp_path / "t.csv").write_text(text, encoding="latin-1")
        with refused(code):
            read_tags(str(tmp_path / "t.csv"), "site")
