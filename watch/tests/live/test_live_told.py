"""What is told to other programs: metrics, a webhook, remarks that are joined."""

import json
import socket
import sys
import threading
import time
from pathlib import Path

from live_runs import PARAMS, decision, json_lines, steps_of
from source_kinds import until

from tcuq.cli import main
from tcuq.cli.process import complain
from tcuq_watch.live.publisher import Notices
from tcuq_watch.verdicts.alerts import WAITING, Poster


def test_an_alarm_is_posted_and_tried_again(server):
    told = []
    hook = Poster("--webhook", f"{server.url}/x", told.append, first=0.02)
    server.answers = [503, 429]
    hook("alarm", {"event": "alarm", "step": 7})
    until(lambda: told)
    assert told == ["webhook: alarm was sent to 127.0.0.1"] and len(server.got) == 3
    assert server.got[0] == ("/x", "application/json", {"event": "alarm", "step": 7})
    server.answers = [404]
    hook("cleared", {})
    until(lambda: len(told) == 2)
    assert told[1] == "webhook: cleared could not be sent to 127.0.0.1 (status 404)" and len(server.got) == 4
    server.answers = [307]
    hook("alarm", {})
    until(lambda: len(told) == 3)
    assert "a redirect, which is not followed" in told[2] and len(server.got) == 5
    hook.close()


def test_control_characters_of_a_server_do_not_reach_the_terminal(tmp_path, capsys):
    told = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            with listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"\x1b[2J\x1b]0;owned\x07\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        hook = Poster("--webhook", f"http://127.0.0.1:{listener.getsockname()[1]}/", told.append, first=60)
        hook("alarm", {})
        thread.join()
        hook.close(5)
    until(lambda: told)
    assert told[0].isprintable()
    Notices([lambda kind, text, step: told.append(text)]).now("note", "a\x1b[2J", 1)
    assert told[1].isprintable()
    complain("tcuq", "a\x1b[2J")
    assert "\x1b" not in capsys.readouterr().err


def test_notices_that_come_often_are_joined():
    told = []
    notices = Notices([lambda kind, text, step: told.append(text)])
    for _ in range(3):
        notices.often("broken", "a line", 7)
    notices.flush(force=True)
    assert told == ["a line", "2 times: a line"]


def test_a_webhook_that_nobody_answers_never_blocks():
    told = []
    hook = Poster("--webhook", "http://127.0.0.1:9/x", told.append, first=0.005)
    begun = time.monotonic()
    for _ in range(WAITING + 20):
        hook("alarm", {})
    assert time.monotonic() - begun < 1
    assert sum("left out" in text for text in told) <= 3 and any("left out" in text for text in told)
    until(lambda: any("could not be sent" in text for text in told))
    hook.close()


def watched(server, monkeypatch, lines, *more):
    """Run the command to the end of its input; return what the webhook got."""
    Path("in.jsonl").write_bytes(b"".join(lines))
    with open("in.jsonl") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert (
            main(["live", "m.json", "-", "--no-page", "--quiet", "--webhook", f"{server.url}/x", *more]) == 0
        )
    return server.bodies()


def test_a_webhook_is_told_once_over_restarts_and_holds_off(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    [alarm] = watched(server, monkeypatch, [decision(step, int(step > 2)) for step in range(6)])
    assert {
        "source": "standard input",
        "params": PARAMS.fingerprint,
        "event": "alarm",
    }.items() <= alarm.items()
    assert (alarm["step"], alarm["risk"], alarm["answer"], alarm["alarm"]) == (3, 3 / 64, 3, 1)
    assert "ALARM" in alarm["text"] and abs(alarm["sent"] - time.time()) < 60
    lines = [decision(step, int(step in (6, 9))) for step in range(6, 10)]
    _, cleared = watched(server, monkeypatch, lines)  # 9 is within the hold-off
    assert (cleared["event"], cleared["step"]) == ("cleared", 7)
    kept = Path("m-live/alerts.json")
    on, last = json.loads(kept.read_text())["alarm"]["device"]
    kept.write_text(json.dumps({"alarm": {"device": [on, last - 300]}}))
    *_, again = watched(server, monkeypatch, [])
    assert again["event"] == "alarm" and again["alarm"] == 1 and len(server.got) == 3
    *_, late = watched(server, monkeypatch, [], "--remind-hours", "0.000001")
    assert late["event"] == "reminder" and "ALARM" in late["text"]


def test_metrics_go_to_a_collector(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    for count in (7, 4):
        watched(server, monkeypatch, [json_lines(steps_of(count))], "--otlp", f"{server.url}/")
    points = []
    for place in (0, -1):
        metrics = server.bodies("/v1/metrics")[place]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        [steps] = [metric["sum"] for metric in metrics if metric["name"] == "tcuq_steps_total"]
        points += steps["dataPoints"]
    before, last = points  # the second run goes on with the count of the first, and with its beginning
    assert before["asDouble"] <= 7 and last["asDouble"] == 11
    assert before["startTimeUnixNano"] == last["startTimeUnixNano"]
