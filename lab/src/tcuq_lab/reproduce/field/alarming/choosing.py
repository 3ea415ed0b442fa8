"""The setting and the limit of every rival, from development data alone.

Every rival tries its settings on the development stream. For each, the limit comes from clean time; kept is
the setting with the least sum of three parts, the same for all rivals:

- the mean delay, in steps, over shifts that cost accuracy (a miss costs the whole shift);
- 250 times the share of clean time under alarm: 250 steps are a mean clean stretch;
- 100 times the share of costly time without alarm: else an alarm that flickers would win by its first rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tcuq.metrics.inputs import Bools, Floats

from ...rows import row_of
from ..plan import CLEAN_OF, DEV
from ..units import Unit
from .counting import Scene, costly_sources, events, false_starts, scene_of
from .limits import RUN_LENGTH, find_limit
from .rivals import Clean, Prepared, Rival, Setting
from .seen import Scorer, Seen, seen_of, unsure_of

CLEAN_ON = 250.0
"""Steps of delay that all of the clean time under alarm would be worth."""
COSTLY_OFF = 100.0
"""Steps of delay that all of the costly time without alarm would be worth."""


@dataclass(frozen=True, eq=False)
class Development:
    """A development stream, and clean development data after it.

    Parameters
    ----------
    seen : Seen
        Stretches of the stream first, then clean ones.
    scene : Scene
        Of all of them.
    worse : tuple of str
        Sources that cost accuracy.
    clean : Clean
    """

    seen: Seen
    scene: Scene
    worse: tuple[str, ...]
    clean: Clean


def development(unit: Unit, role: str, row: str = "base", scorer: Scorer = unsure_of) -> Development:
    """Return the development data of a fit, with the clean log that goes with the stream, if any.

    Parameters
    ----------
    unit : Unit
    role : str
        Of the development stream.
    row : str
        Method whose networks speak.
    scorer : callable
        Of `seen.scorer_of`, for the same role.
    """
    roles = (role, CLEAN_OF[role]) if role in CLEAN_OF else (role,)
    seen = _stacked([seen_of(unit, each, row_of(row), scorer) for each in roles])
    scenes = [scene_of(unit.shown(each)) for each in roles]
    names = tuple(dict.fromkeys(name for each in scenes for name in each.names))
    sources = [np.array([names.index(name) for name in each.names])[each.sources] for each in scenes]
    scene = Scene(np.concatenate(sources), names)
    worse = tuple(costly_sources(unit.error_rates(DEV)))
    return Development(seen, scene, worse, Clean(seen, scene.settled))


def _stacked(parts: Sequence[Seen]) -> Seen:
    def column(of: Sequence[Any]) -> Any:
        return None if of[0] is None else np.concatenate(of)

    return Seen(
        column([each.score for each in parts]),
        column([each.probs for each in parts]),
        column([each.features for each in parts]),
        column([each.logits for each in parts]),
    )


class Chosen(NamedTuple):
    """A rival with what was chosen for it.

    Parameters
    ----------
    rival : Rival
    clean : Clean
    setting : mapping
    limit : float
    about : dict
        What was tried and what came of it, as JSON takes it.
    """

    rival: Rival
    clean: Clean
    setting: Setting
    limit: float
    about: dict[str, Any]

    def prepared(self, seen: Seen) -> Prepared:
        """Return the rival with what it sees of a stream."""
        return self.rival.prepare(self.clean, seen, self.setting)


def choose(rival: Rival, dev: Development) -> Chosen:
    """Return a rival with the setting and the limit that development data give it.

    Parameters
    ----------
    rival : Rival
    dev : Development
    """
    tried = []
    for setting in rival.settings:
        prepared = rival.prepare(dev.clean, dev.seen, setting)
        limit = rival.proved
        if limit is None:
            limit = find_limit(prepared.on, prepared.path(dev.scene.settled), dev.scene.settled)
        on = prepared.on(np.array([limit]))[0]
        tried.append((objective(on, dev.scene, dev.worse), limit, setting, on))
    best, limit, setting, on = min(tried, key=lambda each: each[0])
    about = {
        "setting": dict(setting),
        "limit": round(limit, 6),
        "objective": round(best, 3),
        "false alarms on clean development time": int(false_starts(on, dev.scene.settled).sum()),
        "asked for": int(dev.scene.settled.sum() / RUN_LENGTH),
        "tried": [{**each[2], "limit": round(each[1], 6), "objective": round(each[0], 3)} for each in tried],
    }
    return Chosen(rival, dev.clean, setting, limit, about)


def objective(on: Bools, scene: Scene, worse: Sequence[str]) -> float:
    """Return what settings are chosen by, the less the better.

    Parameters
    ----------
    on : array (K, T)
    scene : Scene
    worse : sequence of str
        Sources that cost accuracy.
    """
    found = events(on, scene)
    costly = np.isin(np.array(found.sources, dtype=np.str_), worse)
    delays: Floats = found.restricted[costly]
    late = float(delays.mean()) if len(delays) else 0.0
    time = on[scene.costly(worse)]
    off = 1 - float(time.mean()) if len(time) else 0.0
    return late + CLEAN_ON * float(on[~scene.shifted].mean()) + COSTLY_OFF * off
