# SPDX-License-Identifier: MIT
"""Labels that come late, in plain Python integers (SPEC.md, section 19)."""

from __future__ import annotations

from oracle_math import word
from oracle_params import Feedback
from oracle_state import State

LABELED, VOUCHED, UNDER_ALARM = 2**15, 2**14, 2**13
ENOUGH = 24576
RIGHT, WRONG = -2, -1


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

    def feedback(self, step: int, label: int) -> int:
        """Take a label in.

        Parameters
        ----------
        step : int
            Number of its step, from 0 on.
        label : int
            A class, -1 where none is right or the answer was wrong, -2 where it was right.

        Returns
        -------
        int
            What section 19 answers.
        """
        p, head = self.params, self.params.feedback
        if head is None:
            return -1
        if not RIGHT <= label < p.classes:
            return -8
        if self.steps == 2**32 - 1 or not self.steps - head.memory <= step < self.steps:
            return -7
        self._mend(head)
        at = (self.next - (self.steps - step)) % head.memory
        entry = self.entries[at]
        if entry & LABELED:
            return -9
        self.entries[at] |= LABELED
        b = p.answer_bits
        right = int(label == RIGHT or label == entry % 2**b)
        vouched = bool(entry & VOUCHED)
        sure = (entry % 8192 | 2**b - 1) >= 8192 - (head.error_reference >> 5)
        back = not vouched and bool(right) and 4 * self.error_debt >= 3 * head.error_shut and sure
        if back and head.error_num > 0:
            back = self._may_recover(head)
        if (vouched or back) and head.error_num > 0:
            wanted = self.error_debt + (0 if right else head.error_den) - head.error_num
            if wanted < -head.error_shut:
                self.branches.add("error debt cut")
                if self.error_debt == -head.error_shut and self.level >= 16:
                    self.branches.add("a way back is paid back")
                    self.level -= 16
            self.error_debt = max(-head.error_shut, wanted)
            if self.error_debt == head.bounds()[1]:
                self.branches.add("error debt at its bound")
        certainty = ((entry % 8192) >> b << b) + 2 ** (b - 1)
        self.correction += (32768 * right - 4 * certainty - self.correction + 16) >> 5
        if bool(entry & UNDER_ALARM) == bool(self.alarm & 1):
            self._judge(head, right)
        else:
            self.branches.add("a label from before the alarm")
        return 0

    def _may_recover(self, head: Feedback) -> bool:
        """Count a label that leads back from silence, as long as those not paid back keep to the bound."""
        count = self.level // 16 + 1
        if count > 4095 or count * head.error_num > head.bounds()[1]:
            self.branches.add("no way back any more")
            return False
        self.branches.add("a way back")
        self.level += 16
        return True

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
            bet = self.params.evidence is not None and self.params.evidence.bet_slope > 0
            least = 0 if bet else -2
            self.branches.add(
                "limit lowered" if level > least else "limit of a bet stays" if bet else "limit at its least"
            )
            level -= level > least
        self.level = self.level // 16 * 16 + level % 16
