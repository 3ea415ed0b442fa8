"""The live page in a browser: what is drawn, what the controls do, and a server that goes and comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from devtools import Browser, Tab
from live_fake import NAMES, about, filled, served, steps_of

from tcuq.monitor.signals import NUMBER
from tcuq_watch.pages.feed import Feed

ROOT = "document.documentElement.dataset"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


class Bench:
    """A feed, its server and a page on it."""

    def __init__(self, browser: Browser, feed: Feed, **options: Any) -> None:
        self.feed, self.options = feed, options
        self.server, self.marks = served(feed, **options)
        self.port = self.server.port
        self.tab: Tab = browser.tab()
        self.tab.size(1300, 1000)
        self.tab.open(self.server.url)

    def ready(self) -> Tab:
        self.tab.wait(f"document.documentElement && {ROOT}.ready")
        return self.tab

    def has(self, step: int) -> None:
        self.tab.wait(f"Number({ROOT}.to) === {step}")

    def says(self, query: str, text: str) -> None:
        self.tab.wait(f"document.querySelector('{query}').textContent.includes('{text}')")

    def asks(self, open: bool) -> None:
        dialog = f"document.querySelector('#wrong:{'modal' if open else 'not(:modal)'}')"
        self.tab.wait(f"{dialog} && {dialog}.contains(document.activeElement) === {str(open).lower()}")

    def marks_as(self, text: str) -> None:
        """Mark the selected step, by the name or number of a class."""
        self.tab.key("w")
        self.asks(True)
        for letter in text:
            self.tab.key(letter)
        self.tab.key("Enter")

    def restart(self, feed: Feed | None = None) -> None:
        self.feed = feed or self.feed
        self.server, self.marks = served(self.feed, **{**self.options, "port": self.port})

    def held(self, first: int, last: int, count: int) -> None:
        """Wait until everything that the page holds are these steps."""
        self.tab.key("0")
        shown = f"[{ROOT}.from, {ROOT}.to, {ROOT}.held].join()"
        self.tab.wait(f"{shown} === '{first},{last},{count}'")


@pytest.fixture
def bench(browser: Browser) -> Iterator[Any]:
    made: list[Bench] = []

    def make(feed: Feed, **options: Any) -> Bench:
        made.append(Bench(browser, feed, **options))
        return made[-1]

    yield make
    for one in made:
        errors = one.tab.errors()
        one.tab.send("Page.close")
        one.server.close()
        assert not errors


def plain(
    first: int, count: int, risk: float, time: float = 1.7e9, signals: Any = None, **more: Any
) -> tuple[Any, ...]:
    columns: dict[str, Any] = {"risk": risk, "threshold": 0.25, "prediction": 2, "answer": 2}
    columns |= {"persistence": 0.5, "expected_accuracy": 0.875, **more}
    return first, steps_of(count, **columns), time, None, signals


def test_the_first_picture_comes_within_two_seconds(bench: Any) -> None:
    feed, device = filled(20_000, 1000)
    one = bench(feed)
    tab = one.ready()
    for _ in range(3):  # other work on the machine only adds
        if int(tab.js(f"{ROOT}.ready")) < 2000:
            break
        tab.open(one.server.url)
        one.ready()
    else:
        pytest.fail("no picture within two seconds")
    assert tab.text("#title") == about()["title"] and about()["source"] in tab.text("#source")
    device.tell(feed, 400, 0.001)
    one.has(20_399)
    assert tab.text("#state") == "live"


def test_what_is_told_is_what_came(bench: Any) -> None:
    feed = Feed(about())
    one = bench(feed)
    tab = one.tab
    one.says("#state", "no step yet")
    feed.add_steps(*plain(5000, 40, 0.125))
    one.says("#which", "5,039")
    keys = ("answer", "decision", "risk", "threshold", "persistence", "accuracy")
    shown = [tab.text(f"#{key}") for key in keys]
    assert shown == ["left", "ACT", "0.125", "0.250", "0.500", "87.5 %"]
    assert "No alarm" in tab.text("#alarm")
    signals = np.array([[0.75, 0, 0, 0.125, 0, 0]])
    doubt = {"flagged": True, "abstain": True, "alarm": 1, "reason": NUMBER["odds"], "signals": signals}
    feed.add_steps(*plain(5040, 1, 0.875, prediction=7, **doubt))
    one.says("#which", "5,040")
    assert "off" in tab.text("#notes") and tab.text("#alarm-word").startswith("Alarm since step 5,040")
    assert tab.text("#reason") == "Step 5,040 is flagged: this posterior is not sure of the class."
    bars = tab.js(
        "[...document.querySelectorAll('#bars li')].map((li) => [li.querySelector('b').textContent,"
        " li.querySelector('i').style.width, li.classList.contains('chosen')])"
    )
    assert bars[0] == ["odds", "75%", True] and bars[3] == ["distance", "12.5%", False]
    feed.counts = {"steps": 41, "flagged": 1, "abstained": 2, "alarms": 3}  # without a step: it comes as well
    one.says("#counts", "Flagged2.4 %")
    assert "Ask, alarm or not4.9 %" in tab.text("#counts") and "Alarms3" in tab.text("#counts")
    feed.add_steps(
        *plain(5041, 5, 0.125)
    )  # the next ones are sure: the doubt of an earlier one is not theirs
    one.says("#which", "5,045")
    assert tab.text("#reason") == "Step 5,045: its risk is below the threshold."
    assert tab.js("getComputedStyle(document.querySelector('#bars')).visibility") == "hidden"


STATES = {
    "ACT": {},
    "ASK": {"flagged": True, "abstain": True},
    "HOLD": {"flagged": True, "abstain": True, "alarm": 1},
}
SEEN = """(() => {
  const style = (query) => getComputedStyle(document.querySelector(query));
  return [style(".decision").backgroundColor, style(".now .answer").fontWeight];
})()"""


def test_the_decision_stands_first_and_no_alarm_looks_like_a_go(bench: Any) -> None:
    """Each state has its word and its color; while the alarm is on, the class steps back; tooltips agree."""
    feed = Feed(about())
    one = bench(feed)
    one.says("#state", "no step yet")
    tab, looks = one.tab, {}
    assert (tab.text("#decision"), tab.text("#alarm-word")) == ("NO DATA", "Alarm unknown")
    looks["NO DATA"] = tab.js(SEEN)
    assert tab.js("document.querySelector('[data-act=wrong]').hidden"), "there is nothing to mark"
    for number, (word, columns) in enumerate(STATES.items()):
        feed.add_steps(*plain(number, 1, 0.5, time=time.time(), **columns))
        one.says("#decision", word)
        looks[word] = tab.js(SEEN)
        tab.mouse("mouseMoved", *tab.at("#stage", 0.97, 0.3))
        tab.wait(f"document.querySelector('.tip').textContent.includes('decision{word.lower()}')")
        tab.mouse("mouseMoved", 5, 5)
    assert len({color for color, _ in looks.values()}) == len(looks)
    assert looks["HOLD"][1] == looks["NO DATA"][1] == "400" < looks["ACT"][1]
    assert "do not act" in tab.text("#notes")


def test_no_data_is_a_state_and_no_old_alarm_is_told(bench: Any) -> None:
    feed = Feed(about())
    one = bench(feed)
    feed.add_steps(*plain(0, 40, 0.125, time=time.time()))
    one.says("#state", "live")
    one.says("#alarm-word", "No alarm")
    one.tab.js("(() => { const now = Date.now; Date.now = () => now() + 60000; })()")
    one.says("#state", "no step for 6")
    one.says("#decision", "NO DATA")
    assert one.tab.text("#alarm-word") == "Alarm unknown" and "said ACT" in one.tab.text("#notes")
    feed.add_steps(*plain(40, 1, 0.125, time=time.time()))
    one.says("#state", "live")
    feed.add_remark("lost", "", 41)
    one.says("#state", "device lost")
    one.says("#decision", "NO DATA")
    feed.add_remark("connected", "", 41)
    feed.add_steps(*plain(41, 40, 0.125, time=time.time() + 30.0 * np.arange(-39, 1)))  # a slow device
    one.tab.js(
        "(() => { const now = Date.now; window.later = 70; Date.now = () => now() + 1000 * later; })()"
    )
    time.sleep(1.2)
    assert one.tab.text("#decision") == "ACT" and one.tab.text("#state") == "live"
    one.tab.js("window.later = 200")
    one.says("#decision", "NO DATA")


@pytest.mark.slow
def test_pause_holds_the_picture_and_nothing_is_lost_behind_it(bench: Any) -> None:
    feed, device = filled(1000)
    one = bench(feed)
    tab = one.ready()
    one.has(999)
    tab.key(" ")
    one.says("#pause-word", "Back to live")
    one.says("#state", "paused")
    device.tell(feed, 50, 0.01)
    one.says("#range", "50 newer")
    assert tab.js(f"{ROOT}.to") == "999" and "step 999" in tab.text("#which")
    one.says("#counts", "1,050")
    tab.click('[data-act="pause"]')
    one.has(1049)
    assert tab.text("#state") == "live"
    # Looking back stops following as well; the end brings it back.
    tab.js("document.querySelector('#stage').focus()")
    tab.key("+")
    tab.key("ArrowLeft", shift=True)
    one.says("#state", "paused")
    tab.key("l")
    one.has(1049)


def test_a_mark_asks_for_the_true_class_and_shows_what_was_written(bench: Any) -> None:
    one = bench(filled(600)[0])
    tab = one.ready()
    one.has(599)
    one.marks_as("")  # nothing is chosen: nothing is sent
    assert "Step 599 answered" in tab.text("#asked") and one.marks == []
    tab.key("Escape")
    one.asks(False)
    one.marks_as("3")
    one.asks(False)
    assert one.marks == [(599, 3)] and tab.text("#marked") == "step 599: true class 3, written to door.csv"
    one.says("#remarks", "Marked wrong")
    # The step that was clicked on, by a name.
    tab.key(" ")
    tab.click("#stage", 0.5, 0.3)
    one.says("#which", "Selected")
    tab.mouse("mouseMoved", 5, 5)
    one.marks_as("sto")
    one.asks(False)
    tab.click('[data-act="wrong"]')
    one.asks(True)
    tab.click("#unknown")
    one.asks(False)
    [step, again] = [step for step, _ in one.marks[1:]]
    assert 200 < step == again < 400 and [label for _, label in one.marks[1:]] == [NAMES.index("stop"), None]
    one.server.close()
    one.says("#state", "connection lost")
    one.marks_as("4")
    one.says("#failed", "nothing was written")


def test_a_server_that_goes_and_comes_loses_and_doubles_nothing(bench: Any) -> None:
    feed, device = filled(300)
    one = bench(feed)
    one.ready()
    one.server.close()
    device.tell(feed, 70, 0.01)  # the feed goes on
    one.says("#state", "connection lost")
    one.restart()
    device.tell(feed, 50, 0.01)
    one.has(419)
    one.held(0, 419, 420)


def test_a_program_that_is_started_again_goes_on_in_the_same_page(bench: Any) -> None:
    feed = Feed(about())
    feed.add_steps(*plain(0, 100, 0.1))
    one = bench(feed)
    one.ready()
    one.has(99)
    feed.close()
    one.says("#state", "the program has ended")
    one.server.close()
    again = Feed(about())
    again.add_remark("restart", "goes on from a saved state", 90)
    again.add_steps(*plain(90, 60, 0.2))  # ten steps were not saved and come again
    one.restart(again)
    one.has(149)
    one.held(0, 149, 150)
    one.says("#remarks", "goes on from a saved state")
    one.server.close()
    another = Feed(about(title="Another"), keep=500)
    another.add_steps(*plain(0, 20, 0.3))
    one.restart(another)
    one.has(19)
    one.held(0, 19, 20)
    one.server.close()
    another.add_steps(*plain(20, 1300, 0.1))  # away for longer than the feed keeps
    one.restart()
    one.has(1319)
    one.held(820, 1319, 500)
    one.says("#remarks", "800 steps were not seen by this page")


EVIL = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'


def test_names_titles_and_remarks_are_text(bench: Any) -> None:
    feed = Feed(about(title=EVIL, source=EVIL, names=[EVIL] * 3, classes=3, params=EVIL))
    feed.add_remark("lost", EVIL, 0)
    feed.add_remark(EVIL, "</script>" + EVIL, 0)
    feed.add_remark("constructor", "", 0)
    feed.add_steps(*plain(0, 30, 0.5))
    one = bench(feed)
    tab = one.ready()
    tab.wait("document.querySelector('#remarks').children.length === 3")
    assert tab.text("#title") == tab.text("#answer") == EVIL
    assert EVIL in tab.text("#source") and EVIL in tab.text("#remarks")
    tab.mouse("mouseMoved", *tab.at("#stage", 0.5, 0.3))
    tab.wait("document.querySelector('.tip').textContent.includes('onerror')")
    tab.key("w")
    one.asks(True)
    assert tab.js("document.querySelectorAll('img, #wrong script').length") == 0
    # Nothing that someone else wrote could run, and nothing is loaded from elsewhere.
    tab.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hurt=1\">')")
    time.sleep(0.2)
    assert tab.js("window.hurt") is None
    tab.events.clear()


def test_a_token_in_the_link_lets_the_page_in_once_and_for_all(bench: Any) -> None:
    one = bench(filled(50)[0], token="open sesame")
    tab = one.ready()
    assert "token" not in tab.js("location.href") and tab.js("document.cookie") == ""
    tab.open(f"http://127.0.0.1:{one.port}/")
    one.ready()
    one.server.close()
    one.options["token"] = "another"
    one.restart()
    one.says("#state", "the token is no longer valid")
