# SPDX-License-Identifier: MIT
"""Stillness, own reference, magnitude, labels: an oracle with a wrong rule does not give the vectors."""

from __future__ import annotations

import copy
import inspect
import struct
import sys
from dataclasses import replace
from itertools import chain
from types import ModuleType

import gen
import gen_feedback
import gen_mutants
import gen_still
import oracle
import oracle_feedback
import oracle_params
import oracle_state
import pytest
from gen_base import Case

STEP = [
    ("far(sum(a * a for a in x))", "far(sum(a * a for a in x) + 1)"),
    ("if 0 < head.still < self.stillness:", "if self.stillness > head.still:"),
    ("if 0 < head.still < self.stillness:", "if 0 < head.still <= self.stillness:"),
    ("if 0 < head.still < self.stillness:", "if 0 < head.still < past:"),
    ("            return 256, True", "            return w, True"),
    ("0 if w == 256 else head.reach.bit_length()", "head.reach.bit_length()"),
    ("- gap.bit_length()", "- max(1, gap).bit_length()"),
    ("- past + 8) >> 4)", "- past) >> 4)"),
    ("- past + 8) >> 4)", "- past + 16) >> 5)"),
    ("min(self.stillness, STILLNESS_MAX)", "self.stillness"),
    ("min(self.stillness, STILLNESS_MAX)", "max(0, min(signed(self.stillness), STILLNESS_MAX))"),
    ("p.evidence.clip if still else", "-p.evidence.clip if still else"),
    ("guess = 65536 - 65536 // p.classes", "guess = 65536 - 65535 // p.classes"),
    ("uncertainty = max(uncertainty, guess)", "uncertainty = guess"),
    ("        if still:", "        if False:"),
    ("((x - head.own_mean) >> 8) * look", "(x >> 8) * look"),
    ("((x - head.own_mean) >> 8) * look", "((x - head.own_mean) * look >> 8)"),
    ("self.own_seen += look", "self.own_seen += 256"),
    (
        "if self.own_seen < enough:\n                return",
        "if self.own_seen <= enough:\n                return",
    ),
    (
        "        if self.own_seen < enough:\n            self.own =",
        "        if self.own_seen <= enough:\n            self.own =",
    ),
    ("256 * (self.own // self.own_seen)", "256 * self.own // self.own_seen"),
    ("256 * (self.own // self.own_seen)", "256 * (self.own // enough)"),
    ("if self.own > 0 else 0\n            if", "if self.own != 0 else 0\n            if"),
    ("        self.own_seen = enough", "        self.own_seen = self.own_seen"),
    ("min(self.own % 2**32, head.own_most)", "self.own % 2**32"),
    ("min(self.own % 2**32, head.own_most)", "min(max(self.own, 0), head.own_most)"),
    ("x -= self._reference(head, x, look)", "self._reference(head, x, look)"),
]
SAVED = [
    ("self.stillness = 0", "self.stillness = getattr(self, 'stillness', 0)"),
    ("else STILLNESS_MAX)", "else STILLNESS_MAX + 1)"),
    ("(0 if p.evidence is None else STILLNESS_MAX)", "STILLNESS_MAX"),
    ("own_seen <= enough", "own_seen <= enough + 1"),
    ("0 <= own <= most if", "own <= most if"),
    ("0 <= own <= most if", "0 <= own <= most + 1 if"),
    ("abs(own) <= 4096 * own_seen", "abs(own) <= 4096 * own_seen + 1"),
    ("abs(own) <= 4096 * own_seen", "0 <= own <= 4096 * own_seen"),
    ("if head and head.own_looks else (0, 0)", ""),
    ("(self.severity, self.stillness) if head", "(self.severity, self.stillness) if True"),
]
LABELS = [
    ("low - 16 if low >= 14 else low", "low - 16 if low >= 13 else low"),
    ("if not low <= self.error_debt <= high:", "if not low <= self.error_debt <= high + 1:"),
    ("if not low <= self.error_debt <= high:", "if not low - 1 <= self.error_debt <= high:"),
    ("if self.next >= head.memory:", "if self.next > head.memory:"),
    ("        if head.error_num == 0:\n", "        if False:\n"),
    ("(head.error_shut - self.error_debt))", "(head.error_shut + self.error_debt))"),
    ("word(risk * head.error_shut) >= wanted", "word(risk * head.error_shut) > wanted"),
    ("return 1 if first else abstain", "return abstain"),
    ("return 1 if first else abstain", "return 1"),
    ("error_first != 0\n", "error_first == 1\n"),
    (">> (3 + b))", ">> (2 + b))"),
    ("(65535 - uncertainty)", "(65536 - uncertainty)"),
    ("(self.next + 1) % head.memory", "(self.next + 1) % self.params.remembered"),
    ("self.level %= 16", "pass"),
    ("if raised != raised_before:", "if raised > raised_before:"),
    ("if raised != raised_before:", "if raised < raised_before:"),
    ("expected + 2 * self.correction", "expected + self.correction"),
    ("min(65535, max(0, wanted))", "max(0, wanted) % 65536"),
    ("min(65535, max(0, wanted))", "min(65535, abs(wanted))"),
    ("not -2 <= label < p.classes", "not -2 <= label <= p.classes"),
    ("not -2 <= label < p.classes", "not -3 <= label < p.classes"),
    ("ago >= min(head.memory, self.steps)", "ago >= head.memory"),
    ("ago >= min(head.memory, self.steps)", "ago >= self.steps"),
    ("ago >= min(head.memory, self.steps)", "ago > min(head.memory, self.steps)"),
    ("            return -3\n        self._mend(head)\n", "            return -3\n"),
    ("(self.next - 1 - ago)", "(self.next + 1 + ago)"),
    ("self.entries[at] |= LABELED", "self.entries[at] |= LABELED * (label >= 0)"),
    ("label == -1 or label == entry % 2**b", "label == -1"),
    ("label == entry % 2**b", "label == entry % 64"),
    ("if entry & VOUCHED and head", "if head"),
    ("VOUCHED and head.error_num > 0", "VOUCHED"),
    (
        "(0 if right else head.error_den) - head.error_num",
        "(0 if right else head.error_den - head.error_num)",
    ),
    ("max(-head.error_shut, wanted)", "wanted"),
    ("max(-head.error_shut, wanted)", "max(1 - head.error_shut, wanted)"),
    (">> b << b) + 2 ** (b - 1)", ">> b << b)"),
    ("(32768 * right - 4 * certainty", "(32767 * right - 4 * certainty"),
    ("- self.correction + 16) >> 5", "- self.correction) >> 5"),
    ("- self.correction + 16) >> 5", "- self.correction + 8) >> 4"),
    ("if bool(entry & UNDER_ALARM) == bool(self.alarm & 1):", "if True:"),
    ("-head.right_score if right", "-head.wrong_score if right"),
    ("if (self.case > 0) == bool(raised):", "if self.case > 0 and raised:"),
    ("if (self.case > 0) == bool(raised):", "if self.case <= 0 and not raised:"),
    ("self.case <= -ENOUGH", "self.case < -ENOUGH"),
    ("self.case >= ENOUGH", "self.case > ENOUGH"),
    ("self.alarm &= 2", "self.alarm &= 254"),
    ("            self.rise = self.case = 0", "            self.case = 0"),
    ("            self.rise = self.case = 0", "            self.rise = 0"),
    ("min(13, level + 2)", "min(13, level + 1)"),
    ("min(13, level + 2)", "level + 2 if level < 12 else level"),
    ("            self.case = 0\n            self.branches", "            self.branches"),
    ("max(-2, level - 1)", "max(-1, level - 1)"),
    ("self.level = level % 16", "self.level = level % 32"),
]
LIMITS = [
    ("(p.rise_limit >> 2) * self.alarm_level()", "p.rise_limit * self.alarm_level() >> 2"),
    (
        "cap, clear = p.rise_limit + moved, p.rise_cap + moved",
        "cap, clear = p.rise_limit + moved, p.rise_cap",
    ),
    ("max(0, p.rise_clear + moved)", "p.rise_clear"),
    ("max(0, p.rise_clear + moved)", "p.rise_clear + moved"),
    ("(flagged or doubtful) and not warming_up", "(flagged or doubtful and not warming_up)"),
    ("(flagged or doubtful) and", "flagged and"),
    ("uncertainty, not abstain and not doubtful, raised)", "uncertainty, not abstain, raised)"),
    ("uncertainty, not abstain and not doubtful, raised)", "uncertainty, not doubtful, raised)"),
    ("self._remember(answer,", "self._remember(prediction,"),
    ("self._corrected(expected) if p.horizon else 0", "self._corrected(expected if p.horizon else 0)"),
]
SAVED_LABELS = [
    ("(p.rise_limit >> 2) * 13", "(p.rise_limit >> 2) * 12"),
    ("rise <= p.rise_cap + more", "rise <= p.rise_cap"),
    ("or p.hold > 0 or labels if", "or p.hold > 0 if"),
    ("max(1, p.rise_limit + more)", "max(1, p.rise_limit)"),
    ("head.bounds()[0] <= first", "True"),
    ("first <= head.bounds()[1]", "True"),
    ("return first <= 15", "return first <= 16"),
    ("first < head.memory and", "first <= head.memory and"),
    ("(first == steps or steps >= head.memory)", "(first <= steps or steps >= head.memory)"),
    ("max(answers) < p.classes", "max(answers) <= p.classes"),
    ("not any(values[filled:])", "True"),
    ('"h", SINCE_STEP, labels) for', '"H", SINCE_STEP, labels) for'),
]
PARAMS = [
    ("self.feedback.memory + self.feedback.memory % 2", "self.feedback.memory"),
    ("6 if self.classes <= 64", "6 if self.classes < 64"),
    ("6 if self.classes <= 64", "6 if self.classes <= 65"),
    ("words += self.feedback.numbers()", "words += self.feedback.numbers()[:-1]"),
]
CHAIN = (oracle_params, oracle_state, oracle_feedback, oracle)
"""Modules that make up a monitor, each importing from those before it."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Return cases, those of labels last."""
    named = {case.name for case in chain(gen_still.cases(), gen_mutants.cases(), gen_feedback.cases())}
    return [case for case in gen.cases() if case.name in named]


def mutated(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return a module from a changed text."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    made = ModuleType(module.__name__)
    exec(compile(source.replace(old, new), module.__name__, "exec"), made.__dict__)
    return made


def in_class(case: Case, kind: type) -> Case:
    """Return a case whose parameters follow the rules of another class."""
    params = copy.copy(case.params)
    object.__setattr__(params, "__class__", kind)
    return replace(case, params=params)


def told(case: Case) -> bool:
    """Return whether a case tells the oracle in `gen` from that which wrote its file."""
    try:
        text = gen.render(case)[0]
    except (AssertionError, IndexError, OverflowError, struct.error):
        return True
    return text.encode("ascii") != (gen.FOLDER / f"{case.name}.vec").read_bytes()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        *((oracle, *each) for each in [*STEP, *LIMITS]),
        *((oracle_state, *each) for each in [*SAVED, *SAVED_LABELS]),
        *((oracle_feedback, *each) for each in LABELS),
        *((oracle_params, *each) for each in PARAMS),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_wrong_rule_is_told(
    module: ModuleType, old: str, new: str, cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in CHAIN[CHAIN.index(module) :]:
        made = mutated(each, *((old, new) if each is module else ("# SPDX", "# SPDX")))
        monkeypatch.setitem(sys.modules, each.__name__, made)
    monkeypatch.setattr(gen, "Monitor", made.Monitor)
    of_labels = module in (oracle_params, oracle_feedback) or (old, new) in [*LIMITS, *SAVED_LABELS]
    some = reversed(cases) if of_labels else cases
    assert any(told(in_class(case, sys.modules["oracle_params"].Params)) for case in some)


def test_the_right_rules_are_not(cases: list[Case]) -> None:
    assert not any(told(case) for case in cases)
