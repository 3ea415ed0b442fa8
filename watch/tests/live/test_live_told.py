"""What is told to other programs: metrics, a webhook, remarks that are joined."""

import http.server
import json
import re
import socket
import threading
import time

import pytest
from live_runs import PARAMS, Feeder, json_lines, steps_of, wait_until

from tcuq.cli.process import complain
from tcuq_watch.live.publisher import Notices
from tcuq_watch.live.session import Session
from tcuq_watch.live.webhook import WAITING, Webhook
from tcuq_watch.verdicts.metrics import metrics_text

SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="(\\.|[^"\\])*",?)*\})? (?P<value>\S+)'
)


def parsed(text):
    """Read the text as Prometheus does: help and type once, before the samples of a metric."""
    assert text.endswith("\n")
    found, helped, typed = {}, set(), {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in typed and name in helped and kind in ("counter", "gauge")
            typed[name] = kind
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample["name"] in typed and sample["name"] not in found
            assert sample["name"].endswith("_total") == (typed[sample["name"]] == "counter")
            found[sample["name"]] = float(sample["value"])
    return found


def test_metrics_before_and_after_steps(tmp_path):
    session = Session(PARAMS, tmp_path, 'a "quoted"\\name\nof two lines')
    publisher = session.publisher
    before = parsed(metrics_text(device=publisher.status, about=publisher.feed.about))
    assert before["tcuq_steps_total"] == 0 and "tcuq_risk" not in before
    Feeder(session).push(json_lines(steps_of(50)) + b"noise\n", 1.7e9)
    after = parsed(metrics_text(device=publisher.status, about=publisher.feed.about))
    assert after["tcuq_steps_total"] == 50 and after["tcuq_broken_lines_total"] == 1
    assert after["tcuq_last_step_timestamp_seconds"] == 1.7e9
    assert after["tcuq_abstentions_total"] == publisher.counts["abstained"] > 0
    assert 0 <= after["tcuq_risk"] < 1 and after["tcuq_alarm"] == 0
    session.close()


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def do_GET(self):
        self.server.looked.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    made.got, made.answers, made.looked, made.location = [], [], [], None
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def test_an_alarm_is_posted_and_tried_again(server):
    told = []
    hook = Webhook(f"http://127.0.0.1:{server.server_port}/x", {"title": "Door"}, told.append, first=0.02)
    server.answers = [503, 500]
    hook({"event": "alarm", "step": 7})
    assert wait_until(lambda: told)
    assert told == ["webhook: alarm was sent to 127.0.0.1"] and len(server.got) == 3
    assert server.got[0] == ("application/json", {"title": "Door", "event": "alarm", "step": 7})
    server.answers = [404]
    hook({"event": "cleared"})
    assert wait_until(lambda: len(told) == 2)
    assert told[1] == "webhook: cleared could not be sent to 127.0.0.1 (status 404)" and len(server.got) == 4
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
        hook = Webhook(f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, told.append, first=60)
        hook({"event": "alarm"})
        thread.join()
        hook.close(5)
    assert wait_until(lambda: told) and told[0].isprintable()
    Notices([lambda kind, text, step: told.append(text)]).now("note", "a\x1b[2J", 1)
    assert told[1].isprintable()
    complain("tcuq", "a\x1b[2J")
    assert "\x1b" not in capsys.readouterr().err


def decision(step, alarm):
    row = {"risk": step / 64, "threshold": 0.5, "answer": step % 4, "alarm": alarm, "seq": step}
    return (json.dumps(row) + "\n").encode()


def test_an_alarm_is_told_with_its_own_step_and_once(tmp_path):
    told = []
    session = Session(PARAMS, tmp_path, "-")
    session.publisher.on_alarm.append(told.append)
    feeder = Feeder(session)
    feeder.push(b"".join(decision(step, int(step in (3, 4))) for step in range(8)))
    assert [(each["event"], each["step"], each["alarm"]) for each in told] == [
        ("alarm", 3, 1),
        ("cleared", 5, 0),
    ]
    assert [(each["risk"], each["answer"]) for each in told] == [(3 / 64, 3), (5 / 64, 1)]
    feeder.push(decision(8, 1))
    feeder.tick()
    session.close()
    assert len(told) == 3
    again = Session(PARAMS, tmp_path, "-")
    again.publisher.on_alarm.append(told.append)
    assert again.publisher.status["alarm"] == 1
    Feeder(again).push(decision(9, 1))
    assert len(told) == 3 and again.publisher.counts["alarms"] == 2
    Feeder(again).push(decision(10, 0))
    assert told[3]["event"] == "cleared" and told[3]["step"] == 10
    again.close()


def test_a_webhook_that_nobody_answers_never_blocks():
    told = []
    hook = Webhook("http://127.0.0.1:9/x", {}, told.append, first=0.005)
    begun = time.monotonic()
    for _ in range(WAITING + 20):
        hook({"event": "alarm"})
    assert time.monotonic() - begun < 1
    assert sum("left out" in text for text in told) <= 3 and any("left out" in text for text in told)
    assert wait_until(lambda: any("could not be sent" in text for text in told))
    hook.close()
