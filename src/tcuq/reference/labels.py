"""Labels that come late (section 19)."""

from __future__ import annotations

from .numbers import clip, note, word
from .params import Feedback, Params
from .sight import Sighted

LABELED, COUNTED, UNDER_ALARM = 2**15, 2**14, 2**13
ENOUGH = 24576
"""3 nats: labels have decided against an alarm, or for one."""

RIGHT, WRONG = -2, -1
"""Labels that name no class."""


class Labels(Sighted):
    """What labels change, and the counters that they read: `steps`, `rise` and `alarm`."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.error_debt = self.correction = self.case = self.next = self.quarters = 0
        self.entries = [0] * params.remembered

    def alarm_quarters(self) -> int:
        """Return by how many quarters of itself labels have moved the limit of the alarm."""
        low = self.quarters % 16
        return low - 16 if low >= 14 else low

    def _mend(self, head: Feedback) -> None:
        """Put back in range what only a memory error takes out of it, section 12."""
        low, high = head.bounds()
        if not low <= self.error_debt <= high:
            note("error debt started anew")
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
            note("every step is doubtful")
            return True
        reached = word(risk * head.error_shut)
        wanted = word(head.error_reference * (head.error_shut - self.error_debt))
        note("doubtful" if reached >= wanted else "not doubtful")
        if reached == wanted:
            note("just doubtful")
        return reached >= wanted

    def _remember(self, answer: int, certainty: int, counted: bool, raised_before: int) -> None:
        """Keep what a label of this step will need."""
        head = self.params.feedback
        if head is None:
            return
        raised, b = self.alarm & 1, self.params.answer_bits
        entry = answer + 2**b * (certainty >> (3 + b))
        self.entries[self.next] = entry + UNDER_ALARM * raised + COUNTED * counted
        self.next = (self.next + 1) % head.memory
        if raised != raised_before:
            self.case = 0

    def _corrected(self, expected: int) -> int:
        """Return an expected accuracy as labels correct it."""
        if self.params.feedback is None:
            return expected
        wanted = expected + 2 * self.correction
        if not 0 <= wanted <= 65535:
            note(f"correction cut {'above' if wanted > 0 else 'below'}")
        return clip(wanted, 0, 65535)

    def feedback(self, step: int, label: int) -> int:
        """Take a label in, a class or one of the above; return what section 19 answers."""
        p, head = self.params, self.params.feedback
        if head is None:
            return -1
        if not RIGHT <= label < p.classes:
            return -8
        if self.steps == 2**32 - 1 or not self.steps - head.memory <= step < self.steps:
            return -7
        self._mend(head)
        at = (self.next - (self.steps - step)) % head.memory
        entry, b = self.entries[at], p.answer_bits
        if entry & LABELED:
            return -9
        self.entries[at] |= LABELED
        right = int(label == RIGHT or label == entry % 2**b)
        counted = bool(entry & COUNTED)
        if head.error_num > 0 and (counted or (right and self._leads_back(head, entry))):
            self._owe(head, right)
        certainty = ((entry % 8192) >> b << b) + 2 ** (b - 1)
        self.correction += (32768 * right - 4 * certainty - self.correction + 16) >> 5
        if bool(entry & UNDER_ALARM) == bool(self.alarm & 1):
            self._judge(head, right)
        else:
            note("a label from before the alarm")
        return 0

    def _leads_back(self, head: Feedback, entry: int) -> bool:
        """Count a right label that leads back from silence, while those not paid back keep to the bound."""
        sure = (entry % 8192 | 2**self.params.answer_bits - 1) >= 8192 - (head.error_reference >> 5)
        if 4 * self.error_debt < 3 * head.error_shut or not sure:
            return False
        count = self.quarters // 16 + 1
        if count > 4095 or count * head.error_num > head.bounds()[1]:
            note("no way back any more")
            return False
        note("a way back")
        self.quarters += 16
        return True

    def _owe(self, head: Feedback, right: int) -> None:
        """Let a label move the error debt."""
        wanted = self.error_debt + (0 if right else head.error_den) - head.error_num
        if wanted < -head.error_shut:
            note("error debt cut")
            if self.error_debt == -head.error_shut and self.quarters >= 16:
                note("a way back is paid back")
                self.quarters -= 16
        self.error_debt = max(-head.error_shut, wanted)
        if self.error_debt == head.bounds()[1]:
            note("error debt at its bound")

    def _judge(self, head: Feedback, right: int) -> None:
        """Let a label speak for or against the alarm as it is."""
        raised, quarters = self.alarm & 1, self.alarm_quarters()
        self.case += -head.right_score if right else head.wrong_score
        if (self.case > 0) == bool(raised):
            self.case = 0
        if self.case <= -ENOUGH:
            self.alarm &= 2
            self.rise = self.case = 0
            self.afresh()
            note("alarm withdrawn" if quarters < 12 else "limit at its largest")
            quarters = min(13, quarters + 2)
        elif self.case >= ENOUGH:
            self.case = 0
            bet = self.params.evidence is not None and self.params.evidence.bet_slope > 0
            least = 0 if bet else -2
            lowest = "limit of a bet stays" if bet else "limit at its least"
            note("limit lowered" if quarters > least else lowest)
            quarters -= quarters > least
        self.quarters = self.quarters // 16 * 16 + quarters % 16
