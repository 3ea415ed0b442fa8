"""Descriptions of parameters and states."""

import json

import numpy as np
import pytest
from refusals import refused

from tcuq import SIGNALS, Alarm, AlarmSide, Feedback, Monitor, Params
from tcuq.monitor.cost import CONTEXT_BYTES
from tcuq.monitor.heads import EvidenceHead, InstantHead
from tcuq.report.describe import bounds_in_words, describe_params, describe_state, render

ALARM = Alarm(0.25, AlarmSide(0.125, 2.0, 3.0), AlarmSide(0.5, 1.0))


def test_memory_is_that_of_a_32_bit_device():
    params = Params(classes=10, features=32)
    found = describe_params(params)
    assert found["cost"]["ram_bytes"] == CONTEXT_BYTES + params.ring_bytes
    assert found["cost"]["state_bytes"] == len(Monitor(params).save())


def test_bounds_hold_and_are_said():
    params = Params(classes=10)
    words = bounds_in_words(params)
    assert words[0] == "after 1,000 steps the flag rate is within 0.020 of 0.100, whatever the input"
    assert words[1].startswith("at most 8 + 0.15 n abstentions in any n steps")
    # The bound that is shown is rounded up, never down.
    for level in (0.01, 0.07, 0.3, 0.5, 0.9):
        params = Params(classes=10, level=level)
        shown = float(bounds_in_words(params)[0].split("within ")[1].split()[0])
        assert params.flag_bound(1000) <= shown + 1e-9 <= params.flag_bound(1000) + 0.0011


@pytest.mark.parametrize("hard", ["error", "budget"])
def test_the_promise_about_errors_is_that_of_the_proof(hard):
    """Labels that lead a device back double the constant, and no constant is rounded down."""
    for memory, share in ((16, 0.05), (32, 0.05), (7, 0.3), (1, 0.001)):
        params = Params(classes=2, feedback=Feedback(memory, share, 0.2, hard=hard))
        [words] = [said for said in bounds_in_words(params) if "wrong" in said]
        plain, doubled = (float(said.split()[0]) for said in words.split(" + ")[1:])
        for shown, real in ((plain, params.error_constant), (doubled, 2 * params.error_constant)):
            assert real - 1e-9 <= shown <= real + 0.1
        assert "or + " in words and "nearly silent monitor back" in words
        assert ("were not doubtful" in words) == (hard == "budget")


def test_a_description_is_json_and_text_with_every_signal():
    params = Params(
        classes=10,
        features=4,
        signals=SIGNALS,
        alarm=Alarm(rise=AlarmSide(0, 2.0, 3.0, clear=1.0), least_raised=8),
        evidence=EvidenceHead({"odds": 7.0, "degradation": 2.25}, [-0.5] * 9 + [1.5], clip=3.5, bias=-1.25),
        instant=InstantHead({"odds": 11.0}, -5.5),
        centers=((0,) * 4,) * 10,
        about="answer",
        horizon=256,
        names=tuple("abcdefghij"),
    )
    found = json.loads(json.dumps(describe_params(params)))
    text = render(found)
    assert [signal["name"] for signal in found["signals"]] == list(SIGNALS)
    for words in (*SIGNALS, "+11.000  odds", "+2.250  degradation", *found["bounds"], *found["alarm"]):
        assert words in text
    assert "lags       none" in render(describe_params(Params(classes=2, signals=("doubt",), lags=())))


def test_a_state_is_described():
    params = Params(classes=3, alarm=Alarm(0.1, AlarmSide(0.0, 0.5)))
    monitor = Monitor(params)
    monitor.run(np.full((30, 3), 1 / 3))
    found = json.loads(json.dumps(describe_state(monitor.save())))
    assert (found["steps"], found["kept_steps"]) == (30, 4)
    assert found["alarm"] == "risk has risen, evidence has added up, or the input has changed"
    assert found["fingerprint"] == describe_params(params)["fingerprint"]
    text = render(found)
    assert all(said in text for said in ("steps      30", found["alarm"], "posteriors only"))


def test_a_damaged_state_is_refused():
    state = Monitor(Params(classes=3)).save()
    for content in (state[:-1], state + b"\0", state[:20], b"", bytes([*state[:-1], state[-1] ^ 1])):
        with refused("damaged"):
            describe_state(content)
