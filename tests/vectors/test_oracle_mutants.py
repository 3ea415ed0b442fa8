# SPDX-License-Identifier: MIT
"""Stillness, own reference, magnitude: an oracle that gets one rule wrong does not give the vectors."""

from __future__ import annotations

import inspect
import struct
import sys
from itertools import chain
from types import ModuleType

import gen
import gen_mutants
import gen_still
import oracle
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


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    named = {case.name for case in chain(gen_still.cases(), gen_mutants.cases())}
    return [case for case in gen.cases() if case.name in named]


def mutated(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return a module from a changed text."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    made = ModuleType(module.__name__)
    exec(compile(source.replace(old, new), module.__name__, "exec"), made.__dict__)
    return made


def told(case: Case) -> bool:
    """Return whether a case tells the oracle in `gen` from that which wrote its file."""
    try:
        text = gen.render(case)[0]
    except (AssertionError, OverflowError, struct.error):
        return True
    return text.encode("ascii") != (gen.FOLDER / f"{case.name}.vec").read_bytes()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [*((oracle, *each) for each in STEP), *((oracle_state, *each) for each in SAVED)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_wrong_rule_is_told(
    module: ModuleType, old: str, new: str, cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module.__name__, mutated(module, old, new))
    made = (
        sys.modules["oracle"] if module is oracle else mutated(oracle, "NO_REASON = 255", "NO_REASON = 255")
    )
    monkeypatch.setattr(gen, "Monitor", made.Monitor)
    assert any(told(case) for case in cases)


def test_the_right_rules_are_not(cases: list[Case]) -> None:
    assert not any(told(case) for case in cases)
