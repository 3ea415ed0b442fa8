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
    ("if 0 < head.still < self.stillness:", "if 0 < head.still < past:"),
    ("- gap.bit_length()", "- max(1, gap).bit_length()"),
    ("min(self.stillness, STILLNESS_MAX)", "self.stillness"),
    ("guess = 65536 - 65536 // p.classes", "guess = 65536 - 65535 // p.classes"),
    ("((x - head.own_mean) >> 8) * look", "(x >> 8) * look"),
    (
        "if self.own_seen < enough:\n                return",
        "if self.own_seen <= enough:\n                return",
    ),
    ("256 * (self.own // self.own_seen)", "256 * (self.own // enough)"),
    ("min(self.own % 2**32, head.own_most)", "self.own % 2**32"),
]
SAVED = [
    ("self.stillness = 0", "self.stillness = getattr(self, 'stillness', 0)"),
    ("own_seen <= enough", "own_seen <= enough + 1"),
    ("abs(own) <= 4096 * own_seen", "abs(own) <= 4096 * own_seen + 1"),
    ("(self.severity, self.stillness) if head", "(self.severity, self.stillness) if True"),
]
LABELS = [
    ("low - 16 if low >= 14 else low", "low - 16 if low >= 13 else low"),
    ("if self.next >= head.memory:", "if self.next > head.memory:"),
    ("word(risk * head.error_shut) >= wanted", "word(risk * head.error_shut) > wanted"),
    ("error_first != 0\n", "error_first == 1\n"),
    ("(self.next + 1) % head.memory", "(self.next + 1) % self.params.remembered"),
    ("if raised != raised_before:", "if raised < raised_before:"),
    ("min(65535, max(0, wanted))", "min(65535, abs(wanted))"),
    ("ago >= min(head.memory, self.steps)", "ago >= head.memory"),
    ("            return -3\n        self._mend(head)\n", "            return -3\n"),
    ("label == -1 or label == entry % 2**b", "label == -1"),
    ("VOUCHED or back) and head.error_num > 0", "VOUCHED or back)"),
    ("4 * self.error_debt >= 3", "4 * self.error_debt > 3"),
    (
        "(0 if right else head.error_den) - head.error_num",
        "(0 if right else head.error_den - head.error_num)",
    ),
    (">> b << b) + 2 ** (b - 1)", ">> b << b)"),
    ("- self.correction + 16) >> 5", "- self.correction + 8) >> 4"),
    ("if (self.case > 0) == bool(raised):", "if self.case > 0 and raised:"),
    ("self.case >= ENOUGH", "self.case > ENOUGH"),
    ("            self.rise = self.case = 0", "            self.rise = 0"),
    ("            self.case = 0\n            self.branches", "            self.branches"),
]
LIMITS = [
    ("(p.rise_limit >> 2) * self.alarm_level()", "p.rise_limit * self.alarm_level() >> 2"),
    ("max(0, p.rise_clear + moved)", "p.rise_clear + moved"),
    ("uncertainty, not abstain and not doubtful, raised)", "uncertainty, not abstain, raised)"),
    ("self._corrected(expected) if p.horizon else 0", "self._corrected(expected if p.horizon else 0)"),
]
SAVED_LABELS = [
    ("(p.rise_limit >> 2) * 13", "(p.rise_limit >> 2) * 12"),
    ("max(1, p.rise_limit + more)", "max(1, p.rise_limit)"),
    ("return first <= 15", "return first <= 16"),
    ("max(answers) < p.classes", "max(answers) <= p.classes"),
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
