"""`Labels`: which steps of a fleet to have labeled under a daily budget, and what the labels then say."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number
from tcuq.base.step_hashes import U64, device_keys, step_hashes

from .label_accuracy import accuracy_of
from .label_pools import Pool, as_lists, asked_rows, from_lists, joined, rows_of
from .tallies import RISK_ONE

DAY = 86400
UNTIMED = -(2**62)
"""The day of steps that have no time, or came after their day was picked: the next pick takes them."""

MOST_OPEN = 64
"""Days that can wait to be picked; what is later belongs to the last of them."""

KEPT, COUNTED = 60, 3660
"""Picks whose steps can still be told, and picks that count for the accuracy."""

MOST_A_DAY = 100_000
MOST_CLASS = 65535


@dataclass
class _Pick:
    """What was asked on one day, and the labels that came back, by place."""

    day: int
    steps: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    told: dict[int, int] = field(default_factory=dict)

    def counts(self) -> list[int]:
        """Return day, steps, then asked, told and wrong of the risk part, and of the random part."""
        found = [self.day, self.steps, 0, 0, 0, 0, 0, 0]
        for place, row in enumerate(self.rows):
            at = 2 if row["part"] == "risk" else 5
            found[at] += 1
            if place in self.told:
                found[at + 1] += 1
                found[at + 2] += self.told[place] != row["answer"]
        return found


class Labels:
    """Choose steps to be labeled, never more than `per_day` a day over the whole fleet.

    Most of the budget goes to the steps of the highest risk of the day, whichever device they come from. The
    rest is a simple random sample of all other steps, without which labels would say nothing about accuracy.
    What is chosen does not depend on the order of steps, nor on batches.

    Parameters
    ----------
    per_day : int
        Labels a day, 0 to 100,000.
    random_share : float
        Share of them that is chosen at random, 0 to 1; at least one label where it is above 0.
    seed : int

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> steps = Monitor(Params(classes=2)).run(np.linspace([1, 0], [0.5, 0.5], 100))
    >>> labels = Labels(per_day=4, random_share=0.5)
    >>> zero, seqs = np.zeros(100, dtype=np.int64), np.arange(100)
    >>> labels.offer("v1", ["door-1"] * 100, zero, seqs, np.full(100, 5.0), steps)
    >>> rows = labels.pick(0)
    >>> [(row["seq"], row["part"]) for row in rows[:2]]
    [(99, 'risk'), (98, 'risk')]
    >>> labels.tell([{**row, "label": 0} for row in rows])["told"], labels.accuracy()["estimate"]
    (4, 1.0)
    """

    def __init__(self, per_day: int, random_share: float = 0.2, seed: int = 0) -> None:
        self._set(per_day, random_share)
        self.seed = integer("seed", seed, 0, 2**63 - 1)
        self._closed: int | None = None
        self._latest: int | None = None
        self._open: dict[int, Pool] = {}
        self._picks: list[_Pick] = []
        self._past: list[list[int]] = []
        self._saved: dict[str, npt.NDArray[Any]] = {}

    def _set(self, per_day: int, random_share: float) -> None:
        self.per_day = integer("per_day", per_day, 0, MOST_A_DAY)
        self.random_share = number("random_share", random_share, 0, 1)
        least = 1 if self.per_day and self.random_share else 0
        self._drawn = max(least, round(self.per_day * self.random_share))
        self._risky = self.per_day - self._drawn

    def change(self, per_day: int, random_share: float) -> None:
        """Set another budget: a smaller one holds at once, a larger one for steps of days not begun yet."""
        self._set(per_day, random_share)
        for pool in self._open.values():
            pool.cut(self._risky, self._drawn)
        self._saved.clear()

    def offer(
        self,
        version: str,
        devices: Any,
        boots: npt.NDArray[np.int64],
        seqs: npt.NDArray[np.int64],
        times: npt.NDArray[np.float64],
        steps: npt.NDArray[Any],
        keys: U64 | None = None,
    ) -> None:
        """Take in steps, each once, in any order.

        Parameters
        ----------
        version : str
        devices : array of n texts
        boots, seqs, times, steps : arrays
            As `Decided` has them.
        keys : array of n numbers, optional
            `device_keys` of the devices, where they are known already.
        """
        if not self.per_day or not len(steps):
            return
        names = np.asarray(devices, dtype=object)
        found = device_keys(version, names.tolist()) if keys is None else np.asarray(keys, dtype=np.uint64)
        hashes = step_hashes(self.seed, found, boots, seqs)
        risks = np.rint(np.asarray(steps["risk"]) * RISK_ONE).astype(np.uint32)
        columns = (hashes, risks, np.asarray(steps["answer"]), boots, seqs, np.asarray(times))
        days = self._days(columns[5])
        for day in np.unique(days).tolist():
            mine = days == day
            where = np.arange(len(days)) if mine.all() else np.flatnonzero(mine)
            pool = self._pool(day)
            keep = where[pool.chances(risks[where], hashes[where])]
            pool.add(rows_of(version, names, columns, keep), len(where))
        self._saved.pop("open", None)

    def _days(self, times: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        known = np.isfinite(times) & (np.abs(times) < 1e15)
        days = np.full(len(times), UNTIMED, dtype=np.int64)
        days[known] = np.floor(times[known] / DAY).astype(np.int64)
        if known.any():
            self._latest = max(int(days[known].max()), UNTIMED if self._latest is None else self._latest)
        if self._closed is not None:
            days[days <= self._closed] = UNTIMED
        return days

    def _pool(self, day: int) -> Pool:
        """Return the pool of a day; where too many days wait, the last of them takes in all later ones."""
        if day not in self._open:
            if len(self._open) >= MOST_OPEN and day > max(self._open):
                return self._open[max(self._open)]
            self._open[day] = Pool(self._risky, self._drawn)
            if len(self._open) > MOST_OPEN:
                before, last = sorted(self._open)[-2:]
                self._open[before] = joined([self._open[before], self._open.pop(last)])
        return self._open[day]

    def whole_day(self) -> int:
        """Return the last day that is over: the one before the latest step's, and before today."""
        today = int(time.time() // DAY)
        return (today if self._latest is None else min(today, self._latest)) - 1

    def pick(self, day: int) -> list[dict[str, Any]]:
        """Return the steps to label on a day, at most `per_day`; the same ones whenever it is asked again.

        They are chosen from all steps of this and of earlier days that no pick has covered. What comes in
        later waits for the next one. Days are picked in their order: an earlier one gives nothing. Save
        `arrays` before handing the rows out, or a restart may choose others on top of them.

        Parameters
        ----------
        day : int
            Days since 1970.
        """
        wanted = integer("day", day, -(2**40), 2**40)
        for pick in self._picks:
            if pick.day == wanted:
                return [dict(row) for row in pick.rows]
        ready = [at for at in self._open if at <= wanted]
        if not ready or (self._closed is not None and wanted <= self._closed):
            return []
        if self._latest is not None and wanted > self._latest:
            raise ValueError(f"day is {wanted}, expected up to {self._latest}, the day of the last step")
        pool = joined([self._open.pop(at) for at in ready])
        self._picks.append(_Pick(wanted, pool.steps, asked_rows(pool, wanted)))
        self._closed = wanted
        while len(self._picks) > KEPT:
            self._past = [*self._past, self._picks.pop(0).counts()][-COUNTED:]
        self._saved.clear()
        return self.pick(wanted)

    def tell(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take in true labels; a step that is told again takes the new one.

        Parameters
        ----------
        rows : iterable of mappings
            With `device`, `version`, `boot`, `seq` and `label`: the true class, or -1 where none of the
            classes is right. Rows without a label (None) are passed over.

        Returns
        -------
        dict
            Rows that were `told`, `unlabeled`, `unknown` (not asked for, or too long ago), or had a `bad`
            label.
        """
        asked: dict[tuple[Any, ...], tuple[_Pick, int]] = {
            (row["version"], row["device"], row["boot"], row["seq"]): (pick, place)
            for pick in self._picks
            for place, row in enumerate(pick.rows)
        }
        found = {"told": 0, "unlabeled": 0, "unknown": 0, "bad": 0}
        for row in rows:
            name = tuple(row.get(part) for part in ("version", "device", "boot", "seq"))
            try:
                where = asked.get(name)
            except TypeError:  # a list, say, which can name nothing
                where = None
            if where is None:
                found["unknown"] += 1
            elif row.get("label") is None:
                found["unlabeled"] += 1
            else:
                try:
                    label = integer("label", row["label"], -1, MOST_CLASS)
                except ValueError:
                    found["bad"] += 1
                    continue
                where[0].told[where[1]] = label
                found["told"] += 1
        self._saved.pop("asked", None)
        return found

    def counts(self) -> npt.NDArray[np.int64]:
        """Return one row a pick: day, steps, then asked, told and wrong by risk, and the same at random."""
        rows = [*self._past, *(pick.counts() for pick in self._picks)]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 8)

    def accuracy(self, level: float = 0.95, day: int | None = None) -> dict[str, Any]:
        """Return the accuracy of the answers over all steps that picks have covered, with an interval.

        The risk part is known altogether, the random part is a sample of all the rest. A label that has not
        come back may be right or wrong: the interval covers both; the estimate takes it to be like the rest.

        Parameters
        ----------
        level : float
            Chance that the interval covers the accuracy, at least.
        day : int, optional
            Of one pick alone.

        Returns
        -------
        dict
            `estimate` (None before the random part has a label), `interval`, `level`, `steps`, `days`,
            `asked`, `told`, `errors_found`.
        """
        rows = self.counts()
        return accuracy_of(rows if day is None else rows[rows[:, 0] == day], level)

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Return what `summarize` shows: the accuracy, and how many steps wait for a pick."""
        waiting = sum(pool.steps for pool in self._open.values())
        return {"per_day": self.per_day, "waiting": waiting} | self.accuracy(level)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept; an array that has not changed is the same object as before."""
        if "open" not in self._saved:
            pools = [
                [day, pool.risky, pool.drawn, pool.steps, as_lists(pool.top), as_lists(pool.sample)]
                for day, pool in sorted(self._open.items())
            ]
            numbers = [self.per_day, self.random_share, self.seed, self._closed, self._latest]
            self._saved["open"] = _packed([numbers, pools])
        if "asked" not in self._saved:
            picks = [[p.day, p.steps, p.rows, sorted(p.told.items())] for p in self._picks]
            self._saved["asked"] = _packed([picks, self._past])
        return dict(self._saved)

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Labels:
        """Return what `arrays` gave, as it was."""
        (per_day, share, seed, closed, latest), pools = _unpacked(arrays["open"])
        picks, past = _unpacked(arrays["asked"])
        found = cls(per_day, share, seed)
        found._closed, found._latest, found._past = closed, latest, past
        for day, risky, drawn, steps, top, sample in pools:
            found._open[day] = Pool(risky, drawn, steps, from_lists(top), from_lists(sample))
        found._picks = [_Pick(day, steps, rows, dict(map(tuple, told))) for day, steps, rows, told in picks]
        return found


def _packed(content: Any) -> npt.NDArray[np.uint8]:
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _unpacked(content: npt.NDArray[Any]) -> Any:
    return json.loads(np.asarray(content, dtype=np.uint8).tobytes().decode("utf-8", "surrogatepass"))
