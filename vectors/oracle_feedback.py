# SPDX-License-Identifier: MIT
"""Labels that come late, in plain Python integers (SPEC.md, section 19)."""

from __future__ import annotations

from oracle_math import word
from oracle_params import Feedback
from oracle_state import State

LABELED, VOUCHED, UNDER_ALARM = 2**15, 2**14, 2**13
ENOUGH = 24576


class Labels(State):
    """The part of a monitor that labels change, or that changes for them."""

    def alarm_level(self) -> int:
        """Return by how many quarters of itself labels have moved the limit of the alarm."""
        low = self.level % 16
        return low - 16 if low >= 14 else low

    def _mend(self, head: Feedback) -> None:
        """Put back in range what only a memory error takes out of it, section 12."""
        low, high = head.bounds()
        if not low <= self.error_debt <= high:
            self.branches.add("error debt started anew")
            self.error_debt = 0
        if self.next >= head.memory:
            self.next = 0

    def _doubts(self, risk: int) -> bool:
        """Return whether a step of this risk is doubtful."""
        head = self.params.feedback
        if head is None:
            return False
        self._mend(head)
        if head.error_num == 0:
            return False
        if self.error_debt >= head.error_shut:
            self.branches.add("every step is doubtful")
            return True
        wanted = word(head.error_reference * (head.error_shut - self.error_debt))
        self.branches.add("doubtful" if risk * head.error_shut >= wanted else "not doubtful")
        if risk * head.error_shut == wanted:
            self.branches.add("just doubtful")
        return word(risk * head.error_shut) >= wanted

    def _hold_back(self, abstain: int) -> int:
        """Return whether a doubtful step abstains, given what the budget says."""
        first = self.params.feedback is not None and self.params.feedback.error_first != 0
        self.branches.add(
            "held back" if abstain else "held back beyond the budget" if first else "doubtful and accepted"
        )
        return 1 if first else abstain

    def _remember(self, answer: int, uncertainty: int, vouched: bool, raised_before: int) -> None:
        """Keep what a label of this step will need."""
        head = self.params.feedback
        if head is None:
            return
        raised, b = self.alarm & 1, self.params.answer_bits
        entry = answer + 2**b * ((65535 - uncertainty) >> (3 + b))
        self.entries[self.next] = entry + UNDER_ALARM * raised + VOUCHED * vouched
        self.next = (self.next + 1) % head.memory
        self.level %= 16
        if raised != raised_before:
            self.case = 0

    def _corrected(self, expected: int) -> int:
        """Return an expected accuracy as labels correct it."""
        if self.params.feedback is None:
            return expected
        wanted = expected + 2 * self.correction
        if not 0 <= wanted <= 65535:
            self.branches.add(f"correction cut {'above' if wanted > 0 else 'below'}")
        return min(65535, max(0, wanted))

    def feedback(self, ago: int, label: int) -> int:
        """Take a label in.

        Parameters
        ----------
        ago : int
            Steps between its step and the last one.
        label : int
            A class, -1 for a right answer, -2 for a wrong one.

        Returns
        -------
        int
            What section 19 answers.
        """
        p, head = self.params, self.params.feedback
        if head is None or not -2 <= label < p.classes:
            return -1
        if ago >= min(head.memory, self.steps):
            return -3
        self._mend(head)
        at = (self.next - 1 - ago) % head.memory
        entry = self.entries[at]
        if entry & LABELED:
            return 0
        self.entries[at] |= LABELED
        b = p.answer_bits
        right = int(label == -1 or label == entry % 2**b)
        if entry & VOUCHED and head.error_num > 0:
            wanted = self.error_debt + (0 if right else head.error_den) - head.error_num
            if wanted < -head.error_shut:
                self.branches.add("error debt cut")
            self.error_debt = max(-head.error_shut, wanted)
            if self.error_debt == head.bounds()[1]:
                self.branches.add("error debt at its bound")
        certainty = ((entry % 8192) >> b << b) + 2 ** (b - 1)
        self.correction += (32768 * right - 4 * certainty - self.correction + 16) >> 5
        if bool(entry & UNDER_ALARM) == bool(self.alarm & 1):
            self._judge(head, right)
        else:
            self.branches.add("a label from before the alarm")
        return 1

    def _judge(self, head: Feedback, right: int) -> None:
        """Let a label speak for or against the alarm as it is."""
        raised, level = self.alarm & 1, self.alarm_level()
        self.case += -head.right_score if right else head.wrong_score
        if (self.case > 0) == bool(raised):
            self.case = 0
        if self.case <= -ENOUGH:
            self.alarm &= 2
            self.rise = self.case = 0
            self.branches.add("alarm withdrawn" if level < 12 else "limit at its largest")
            level = min(13, level + 2)
        elif self.case >= ENOUGH:
            self.case = 0
            self.branches.add("limit lowered" if level > -2 else "limit at its least")
            level = max(-2, level - 1)
        self.level = level % 16
