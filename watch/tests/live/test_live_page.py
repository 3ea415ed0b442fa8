"""The live page in a browser: what is drawn, what the controls do, and a server that goes and comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from devtools import chromium
from live_fake import NAMES, about, filled, served, steps_of

from tcuq.monitor.signals import NUMBER
from tcuq_watch.pages.feed import Feed

if TYPE_CHECKING:
    from browser import Browser, Tab

ROOT = "document.documentElement.dataset"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    started = chromium()
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
        opened = "(document.querySelector('#experts').open = true)"
        self.tab.wait(f"document.documentElement && {ROOT}.ready && {opened}")
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
        one.tab.page.context.close()
        one.server.close()
        assert not errors, errors[0]


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
    assert tab.text("#title") == about()["title"] and about()["source"] in tab.text("#place")
    device.tell(feed, 400, 0.001)
    one.has(20_399)
    assert tab.text("#state").startswith("live, ")


def test_what_is_told_of_a_step_is_what_came(bench: Any) -> None:
    feed = Feed(about())
    feed.add_steps(*plain(5000, 40, 0.125))
    one = bench(feed)
    tab = one.ready()
    one.says("#which", "5,039")
    keys = ("answer", "said", "risk", "threshold", "persistence", "accuracy")
    shown = [tab.text(f"#{key}") for key in keys]
    assert shown == ["left", "ACT", "0.125", "0.250", "0.500", "87.5 %"]
    signals = np.array([[0.75, 0, 0, 0.125, 0, 0]])
    doubt = {"flagged": True, "abstain": True, "alarm": 1, "reason": NUMBER["odds"], "signals": signals}
    feed.add_steps(*plain(5040, 1, 0.875, prediction=7, **doubt))
    one.says("#which", "5,040")
    assert tab.text("#said") == "HOLD"
    assert tab.text("#reason").startswith("Step 5,040 is flagged: this posterior is not sure of the class.")
    assert "off" in tab.text("#reason")
    bars = tab.js(
        "[...document.querySelectorAll('#bars li')].map((li) => [li.querySelector('b').textContent,"
        " li.querySelector('i').style.width, li.classList.contains('chosen')])"
    )
    assert bars[0] == ["odds", "75%", True] and bars[3] == ["distance", "12.5%", False]
    feed.counts = {"steps": 41, "flagged": 1, "abstained": 2, "alarms": 3}  # without a step: it comes as well
    one.says("#counts", "Flagged2.4 %")
    assert "Ask, alarm or not4.9 %" in tab.text("#counts") and "Alarms3" in tab.text("#counts")
    feed.add_steps(*plain(5041, 5, 0.125))  # sure ones: the doubt of an earlier one is not theirs
    one.says("#which", "5,045")
    assert tab.text("#reason") == "Step 5,045: its risk is below the threshold. "
    assert tab.js("getComputedStyle(document.querySelector('#bars')).visibility") == "hidden"


STATES = {
    "ACT": {},
    "ASK": {"flagged": True, "abstain": True, "prediction": 7},
    "HOLD": {"flagged": True, "abstain": True, "alarm": 1},
}
SEEN = """(() => {
  const one = (query) => document.querySelector(query), style = (query) => getComputedStyle(one(query));
  const shape = style(".decision i"), at = one("#decision").getBoundingClientRect(), icon = one("link").href;
  const drawn = shape.clipPath + shape.borderRadius + shape.borderStyle;
  return [style(".now").backgroundColor, drawn, icon, at.height, at.bottom];
})()"""


def test_the_decision_stands_first_in_word_shape_and_color(bench: Any) -> None:
    """It is read from afar, in the tab's title and icon too; tooltips of its step agree."""
    feed = Feed(about())
    one = bench(feed)
    one.says("#state", "no step yet")
    tab, looks = one.tab, {}
    assert tab.text("#decision") == "NO DATA" and "Expects one line of JSON" in tab.text("#facts")
    looks["NO DATA"] = tab.js(SEEN)
    assert tab.js("document.querySelector('[data-act=wrong]').hidden"), "there is nothing to mark"
    for number, (word, columns) in enumerate(STATES.items()):
        feed.add_steps(*plain(number, 1, 0.5, time=time.time(), **columns))
        one.says("#decision", word)
        looks[word] = tab.js(SEEN)
        tab.wait(f"document.title.startsWith('{word}') && document.title.endsWith('Key words at the door')")
        one.ready()
        tab.js("document.querySelector('#stage').scrollIntoView()")
        tab.point(*tab.at("#stage", 0.97, 0.3))
        tab.wait(f"document.querySelector('.tip').textContent.includes('decision{word.lower()}')")
        tab.point(5, 5)
        tab.js("scrollTo(0, 0)")
    for what in zip(*(look[:3] for look in looks.values()), strict=True):
        assert len(set(what)) == len(looks)
    assert all(height > 70 and bottom < 300 for *_, height, bottom in looks.values())
    assert "do not act" in tab.text("#facts") and "left" not in tab.text("#headline")


NUMBERS = [["brightness", 120.0, 14.0], ["sharpness", 0.5, 0.1], ["odds", 0.2, 0.1]]
DARK = "sharpness far below the clean log"


def test_a_hold_says_what_changed_since_when_and_what_it_costs(bench: Any) -> None:
    feed = Feed(about(title="gate-north", place="hall 3", numbers=NUMBERS, far=1.0, moved={129: DARK}))
    end, count = time.time() + 2, 1200
    steps = steps_of(
        count, risk=0.1, threshold=0.25, answer=2, alarm=np.arange(count) >= 300,
        expected_accuracy=np.where(np.arange(count) < 300, 0.93, 0.54),
        moved=np.where(np.arange(count) < 300, 255, 129),
    )  # fmt: skip
    numbers = np.zeros((count, 3))
    numbers[300:, 1] = -3.5
    times = end - 3.0 * np.arange(count)[::-1]  # an hour
    feed.add_steps(0, steps, times, np.tile([0.4, 1.0], (count, 1)), None, numbers)
    feed.add_remark("alarm", f"ALARM: input looks degraded: {DARK}", 300)
    feed.now = {"since": times[300], "step": 300, "holds": 2, "before": 0.93}
    one = bench(feed)
    tab = one.tab
    one.says("#decision", "HOLD")
    since = tab.js(f"new Date({1000 * times[300]}).toLocaleTimeString('en-GB').slice(0, 5)")
    assert tab.text("#title") == "gate-north" and tab.text("#place").startswith("hall 3 ·")
    assert tab.text("#headline") == f"since {since}, 44\u00a0min"
    assert tab.js("document.title") == "HOLD 44\u00a0min \u2013 gate-north"
    facts = tab.text("#facts")
    assert "Expected accuracy 54 %, was 93 %." in facts and "Sharpness far below the clean log." in facts
    assert "2 alarms" in facts and "HOLDstill on" in tab.text("#spans") and since in tab.text("#spans")
    one.says("#shares", "held on 75.0 % of the steps shown")
    # The chart: clean and held times differ, and pressing it opens the step with its reason.
    wait_cell = "document.querySelector('#cell').textContent.includes('{}')"
    for across, words in ((0.2, "hold 0; expected accuracy 93 %"), (0.8, "expected accuracy 54 %")):
        tab.point(*tab.at("#hour", across, 0.5))
        tab.wait(wait_cell.format(words))
    assert tab.text("#expected") == "54 % (likely 40 to 100)"
    tab.click('[data-act="start"]')
    one.says("#which", "Selected step 300")
    assert tab.text("#said") == "HOLD" and "Sharpness far below" in tab.text("#reason")
    tab.key("Escape")
    tab.js("scrollTo(0, 0)")
    tab.click("#hour", 0.15, 0.5)
    one.says("#which", "Selected step")
    assert tab.text("#said") == "ACT"


def test_a_step_that_asks_is_answered_with_one_press(bench: Any) -> None:
    feed = Feed(about())
    feed.add_steps(*plain(0, 40, 0.125, time=time.time()))
    feed.add_steps(*plain(40, 1, 0.5, time=time.time(), **STATES["ASK"]))
    feed.add_steps(*plain(41, 3, 0.125, time=time.time()))
    one = bench(feed)
    tab = one.tab
    one.says("#decision", "ACT")  # one step alone is seen for a moment
    assert tab.text('[data-act="first"]') == "Step 40 was “left”"
    assert tab.text('[data-act="second"]') == "Step 40 was “off”"
    tab.click('[data-act="second"]')
    one.says("#marked", "true class 7")
    assert one.marks == [(40, 7)]


def test_what_happened_before_the_page_and_its_steps_is_drawn(bench: Any) -> None:
    """A feed that keeps few steps tells a page of the day before them; what comes all at once has no time."""
    feed = Feed(about(), keep=100)
    feed.add_steps(*plain(0, 3600, 0.125, time=time.time() - np.arange(3600)[::-1]))
    one = bench(feed)
    one.says("#decision", "ACT")
    one.says("#shares", "held on")
    for across in (0.15, 0.5, 0.9):
        one.tab.point(*one.tab.at("#hour", across, 0.5))
        one.says("#cell", "expected accuracy 88 %")
    file = Feed(about())
    file.add_steps(*plain(0, 500, 0.125, time=time.time()))
    other = bench(file)
    other.says("#shares", "held on")
    other.tab.point(*other.tab.at("#hour", 0.5, 0.5))
    other.says("#cell", "Step 2")


def test_no_data_is_a_state_and_no_old_alarm_is_told(bench: Any) -> None:
    feed = Feed(about())
    one = bench(feed)
    feed.add_steps(*plain(0, 40, 0.125, time=time.time()))
    one.says("#state", "live")
    one.says("#decision", "ACT")
    one.tab.js("(() => { const now = Date.now; Date.now = () => now() + 60000; })()")
    one.says("#state", "no step for 6")
    one.says("#decision", "NO DATA")
    assert "Whether an alarm is on is unknown" in one.tab.text("#facts") and "said ACT" in one.tab.text(
        "#facts"
    )
    feed.add_steps(*plain(40, 1, 0.125, time=time.time()))
    one.says("#state", "live")
    feed.add_remark("lost", "the port is gone", 41)
    one.says("#state", "device lost")
    one.says("#decision", "NO DATA")
    one.says("#facts", "Device lost, waiting for it.")
    assert "the port is gone" in one.tab.text("#spans")
    feed.add_remark("connected", "", 41)
    feed.add_steps(*plain(41, 40, 0.125, time=time.time() + 30.0 * np.arange(-39, 1)))  # a slow device
    one.tab.js(
        "(() => { const now = Date.now; window.later = 70; Date.now = () => now() + 1000 * later; })()"
    )
    time.sleep(1.2)
    assert one.tab.text("#decision") == "ACT" and one.tab.text("#state").startswith("live")
    one.tab.js("window.later = 200")
    one.says("#decision", "NO DATA")


def test_a_telephone_and_a_keyboard_reach_all(bench: Any) -> None:
    one = bench(filled(600, trouble=(300, 500))[0])
    tab = one.ready()
    tab.size(390, 844)
    tab.wait("innerWidth === 390")
    assert tab.js("document.documentElement.scrollWidth") <= 390
    tab.js("document.querySelector('#experts').open = false")
    found = set()
    for _ in range(60):
        tab.key("Tab")
        found.add(
            tab.js(
                "(({ dataset, tagName }) => dataset.act || dataset.span || tagName)(document.activeElement)"
            )
        )
    assert {"last", "300", "3600", "86400", "SUMMARY"} <= found
    tab.key("n")  # a key of the folded part opens it
    tab.wait("document.querySelector('#experts').open")
    one.says("#which", "Selected step 341")


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
    assert tab.text("#state").startswith("live,")
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
    one.says("#remarks", "Labeled")
    # The step that was clicked on, by a name.
    tab.key(" ")
    tab.js("document.querySelector('#stage').scrollIntoView()")
    tab.click("#stage", 0.5, 0.3)
    one.says("#which", "Selected")
    tab.point(5, 5)
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
    tab.point(*tab.at("#hour", 0.5, 0.3))
    assert tab.text("#title") == tab.text("#answer") == EVIL
    assert EVIL in tab.js("document.title") and EVIL in tab.text("#place") and EVIL in tab.text("#spans")
    tab.point(*tab.at("#stage", 0.5, 0.3))
    tab.js("document.querySelector('#stage').scrollIntoView()")
    tab.point(*tab.at("#stage", 0.5, 0.31))
    tab.wait("document.querySelector('.tip').textContent.includes('onerror')")
    tab.key("w")
    one.asks(True)
    assert tab.js("document.querySelectorAll('img, #wrong script').length") == 0
    # Nothing that someone else wrote could run, and nothing is loaded from elsewhere.
    tab.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hurt=1\">')")
    time.sleep(0.2)
    assert tab.js("window.hurt") is None
    tab.forget()


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


def test_steps_to_label_are_listed_and_an_answer_can_be_right(bench: Any) -> None:
    feed, _ = filled(100)
    one = bench(feed)
    tab = one.ready()
    assert tab.js("document.querySelector('#labels').hidden")
    feed.labels = {"lines": ["no estimate yet"], "ask": [41, 7]}
    one.says("#labels", "No estimate yet.")
    one.says("#ask-next", "Step 41")
    tab.click("#ask-next button")
    one.asks(True)
    assert "Step 41 answered" in tab.text("#asked")
    tab.click("#right")
    one.asks(False)
    assert one.marks == [(41, True)]
