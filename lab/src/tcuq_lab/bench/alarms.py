"""Rivals of the alarm as entries: tuned on development data as in the experiment `alarms`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..reproduce.field.alarming.choosing import Chosen, Development, choose
from ..reproduce.field.alarming.counting import Scene, costly_sources
from ..reproduce.field.alarming.rivals import RIVALS, Clean, Rival
from ..reproduce.field.alarming.seen import Seen
from .interface import Dev, Floats, Said, Stream


class Alarmed:
    """Confidence, with a rival's alarm. Its setting and its limit come from marks of development data.

    Subclasses name the rival. Those that need logits, or other networks, cannot run here.
    """

    rival: ClassVar[Rival]
    uses_labels = True
    chosen: Chosen

    def fit(self, dev: Dev) -> None:
        """Try eight settings on the development stream and the clean log."""
        assert dev.labels is not None and dev.shifted is not None
        parts = [*((dev, each) for each in dev.pieces()), *((dev.clean, each) for each in dev.clean.pieces())]
        steps = min(piece.stop - piece.start for _, piece in parts)
        first = [(of, slice(piece.start, piece.start + steps)) for of, piece in parts]
        seen = _seen(
            *(np.stack([getattr(of, name)[rows] for of, rows in first]) for name in ("probs", "features"))
        )
        kinds = np.zeros(seen.score.shape, dtype=np.int64)
        for row, (of, rows) in zip(kinds, first, strict=True):
            row[:] = dev.shifted[rows] if of is dev else 0
        wrong = dev.probs.argmax(axis=1) != dev.labels
        judged = dev.labels >= 0
        present = np.unique(dev.shifted[judged]).tolist()
        errors = {_name(kind): float(wrong[judged & (dev.shifted == kind)].mean()) for kind in present}
        scene = Scene(kinds, tuple(map(_name, range(int(dev.shifted.max()) + 1))))
        worse = tuple(costly_sources(errors)) if _name(0) in errors else ()
        self.chosen = choose(self.rival, Development(seen, scene, worse, Clean(seen, scene.settled)))

    def watch(self, stream: Stream) -> Said:
        """Say the doubt of each step, and the alarm."""
        seen = _seen(stream.probs[None], stream.features[None])
        on = self.chosen.prepared(seen).on(np.array([self.chosen.limit]))[0, 0]
        return Said(seen.score[0], alarm=on)


def _seen(probs: Floats, features: Floats) -> Seen:
    return Seen(1.0 - probs.max(axis=2).astype(np.float64), probs, features)


def _name(kind: int) -> str:
    return "clean" if kind == 0 else f"kind {kind}"


NAMED = {
    "alarm_cusum": "CUSUM",
    "alarm_bocpd": "BOCPD",
    "alarm_martingale": "conformal martingale",
    "alarm_mmd": "MMD window",
    "alarm_distance": "CUSUM, feature distance",
    "alarm_neighbors": "CUSUM, nearest neighbors",
    "alarm_belief": "CUSUM, belief",
}
"""Rivals by the name that the command takes."""
_BY_NAME = {rival.name: rival for rival in RIVALS}
ALARMS: dict[str, type[Alarmed]] = {
    name: type("Alarmed", (Alarmed,), {"name": f"confidence, {of}, tuned", "rival": _BY_NAME[of]})
    for name, of in NAMED.items()
}
"""Entries by the name that the command takes."""
