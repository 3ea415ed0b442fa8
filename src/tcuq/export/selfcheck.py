"""The self-check of a package: on the target, generated inputs must give what the core gave at export."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..fitting.arrays import added_in_run
from ..log.logits import posteriors
from ..monitor.heads import Sight
from ..monitor.made import STEP_FIELDS
from ..monitor.monitor import RIGHT, WRONG, Monitor
from ..monitor.params import Params
from .contents import Contents
from .csource import braced

Int8 = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Kind = tuple[int, int, int]
"""What a long stretch is: kind of posterior, kind of features, and steps that a class stays."""


def taken(monitor: Monitor, probs: Int8, features: Int8, gauges: Floats | None = None) -> tuple[Ints, Ints]:
    """Run a monitor on rows and return everything that it gives, one row per step."""
    more = features if monitor.params.features else None
    steps, signals = monitor.run(probs, more, signals=True, gauges=gauges)
    columns: list[Any] = [steps[name] * (ONE if steps.dtype[name].kind == "f" else 1) for name in STEP_FIELDS]
    # What the parameters do not ask for is NaN in Python, 0 in the core.
    fields = np.stack([np.nan_to_num(column).astype(np.int64) for column in columns], axis=1)
    return fields, np.asarray(signals * ONE).astype(np.int64)


STRETCHES, LENGTH = 16, 64
"""Stretches of a check, calm, mixed, bad and wild ones in turn, and their steps."""

SHORT = STRETCHES * LENGTH
"""Unless all alarms rise and clear in so many steps, three stretches as long follow: calm, bad, calm."""

EVERY = 16
"""Steps from one saved state to the next."""

TRIED, RESET = 10, 3
"""Stretches from one state that is also changed to the next, and from one reset to the next.

A reset comes after the first step of its stretch. The next states are then saved 15, 31, 47 and so on steps
after it. No ring is at its first place at all of them, so that a place which is lost is noticed.
"""

BLIND = 8
"""Of so many stretches of `EVERY` steps the last one has no gauges."""

LARGEST_STATE = 8192
"""A saved state of more bytes is not checked."""

PLACES = 20
"""Bytes behind the first 64 of a state that are changed, about."""

CHANGES = (1, -1, 128, 0)


def _label(monitor: Monitor, step: int) -> None:
    """Give the labels that the C gives: almost all are right, so that some steps stay counted."""
    for ago in range(EVERY + 1):
        drawn = int(_draw(~(step + ago) & 0xFFFFFFFF)[0])
        code = {0: WRONG, 1: (drawn >> 8) % monitor.params.classes}.get(drawn & 63, RIGHT)
        monitor._core.feedback((step - 1 - ago) & 0xFFFFFFFF, code)


def _draw(n: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    bits = np.atleast_1d(np.asarray(n)).astype(np.uint32)
    bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x7FEB352D)
    bits = (bits ^ bits >> np.uint32(15)) * np.uint32(0x846CA68B)
    return bits ^ bits >> np.uint32(16)


def _inputs(params: Params, step: Ints, long: tuple[Kind, ...]) -> tuple[Int8, Int8, Floats | None]:
    """Return the rows that `tcuq_check_input` makes, see templates/selfcheck.c.in."""
    classes, stretch, drawn = params.classes, step // LENGTH, _draw(step).astype(np.int64)
    kind = np.array([0, 0, 2, 0])[stretch % 4] + (drawn & 255) % np.array([2, 4, 4, 8])[stretch % 4]
    stay = np.where((stretch // 4 % 2 != 0) | (kind == 4), 1, np.where(stretch % 4 == 0, 64, 12))
    spread, late = kind, step >= SHORT
    if long:
        stretch = np.where(late, step // SHORT % 2, stretch)
        kind, spread, stay = np.where(late, np.array(long)[stretch % 2].T, [kind, spread, stay])
    label = _draw(step // stay + stretch).astype(np.int64) % classes
    second = (label + 1 + (drawn >> 16) % (classes - 1)) % classes
    part = drawn >> 8 & 255
    top = np.select([kind == 1, kind == 2, kind == 3], [200 + part % 56, 128 + part % 16, part % 32], 255)
    at = np.arange(classes)
    more = _draw(drawn[:, None] + at).astype(np.int64)
    each, parts = kind[:, None], part[:, None]
    value = np.select(
        [each == 3, each == 5, each != 7],
        [256 // classes, more % _span(classes), 0],
        np.where(parts < 64, 255, more & 255),
    )
    value = value + np.where((each < 5) & (at == label[:, None]), top[:, None], 0)
    value += np.where(((each == 1) | (each == 2)) & (at == second[:, None]), 256 - top[:, None], 0)
    probs = (np.minimum(value, 255) - 128).astype(np.int8)
    place = np.arange(params.features)
    more = _draw((~drawn)[:, None] + place).astype(np.int64)
    each, place = spread[:, None], label[:, None] * params.features + place
    if params.centers is None:
        center = 64 + (_draw(place).astype(np.int64) & 127)
    else:
        center = 128 + np.ravel(params.centers)[place]
    feature = (center * (16 - each) + (more & 255) * each) // 16 - 128
    wild = np.select([parts < 64, parts < 128], [127, -128], (more & 255) - 128)
    features = np.select([each == 6, each == 7], [params.feature_zero_point, wild], feature)
    gauges = None if params.sight is None else _gauges(params.sight, label, drawn, part, spread)
    return probs, features.astype(np.int8), gauges


def _gauges(sight: Sight, label: Ints, drawn: Ints, part: Ints, spread: Ints) -> Floats:
    """Return the gauges of these steps: usual ones of the class, and higher ones."""
    fields, count = sight.integers(), len(sight.gauges)
    mean, scale, shift = (np.array(fields[name][:count], np.int64) for name in ("mean", "scale", "shift"))
    more = _draw((~drawn)[:, None] - np.arange(count)).astype(np.int64) & 255
    half = np.minimum((128 << shift) // scale, 8191)
    usual = np.frombuffer(fields["class_mean"], np.int8).reshape(-1, len(sight.means)).astype(np.int64)
    gauges = (mean + 1048576) // 16 - 65536 + half * (usual[label, :count] + 128) // 8 - 16 * half
    gauges = gauges + half * (more + 64 * spread[:, None]) // 64 - 2 * half
    wild = (spread == 7) & (part < 128)
    gauges = np.where(wild[:, None], np.where(part < 64, 65536, -65536)[:, None], gauges)
    return np.asarray(np.clip(gauges, -32768, 32767) / np.array(sight.gauge_scales))


def _long(params: Params) -> tuple[Kind, ...]:
    """Return what is bad in the long stretches, and what is calm, by what the alarm adds a step."""
    added = {}
    for kind in product(range(8), (0, 1, 4, 7), (1, SHORT)):
        probs, features, gauges = _inputs(params, SHORT + np.arange(2 * LENGTH), (kind, kind))
        more = features if params.features else None
        steps, signals = Monitor(params).run(probs, more, signals=True, gauges=gauges)
        values = steps["risk"]
        if params.sight is not None:
            values = steps["degradation"] + steps["alarm"]  # also of an input that stands still
        if params.evidence is not None:
            values = added_in_run(params, steps, signals)
        added[kind] = float(np.mean(values[LENGTH:]))
    return max(added, key=added.__getitem__), min(added, key=added.__getitem__)


def _turned(params: Params, alarm: Ints) -> dict[str, bool]:
    """Return whether the alarm rises and clears, by side that is on."""
    used = [(side, bit) for side, bit in (("rise", 1), ("fall", 2)) if params.integers()[f"{side}_limit"]]
    return {side: {*np.diff(np.minimum(alarm & bit, 1)).tolist()} >= {1, -1} for side, bit in used}


def _rows(given: tuple[Int8, Int8, Floats | None], first: int, end: int) -> tuple[Int8, Int8, Floats | None]:
    """Return the inputs of some steps, which all have gauges or have none."""
    probs, features, gauges = given
    seen = gauges is not None and first // EVERY % BLIND != BLIND - 1
    return probs[first:end], features[first:end], gauges[first:end] if gauges is not None and seen else None


def _span(classes: int) -> int:
    return 512 // classes + 2


class SelfCheck:
    """What the self-check of a monitor runs, and what must come out; the same for the same parameters."""

    def __init__(self, contents: Contents) -> None:
        self.contents, size = contents, contents.params.state_bytes
        self.saves = size <= LARGEST_STATE
        # Bytes from one changed place of a state to the next, behind the first 64.
        self.stride = max(1, (size - 68) // PLACES | 1)
        self._fields, self._signals, self._states, self._long = self._run()
        self.steps = len(self._fields)
        self._parts = list(_before(contents))
        self.table_bytes = sum(part["given"].size for part in self._parts)
        count = {name: np.count_nonzero(self.column(name)) for name in ("flagged", "abstain", "alarm")}
        self.about = (
            f"{self.steps} steps: {count['flagged']} flagged, {count['abstain']} abstain, "
            f"{count['alarm']} in alarm"
        )

    @property
    def alarms(self) -> str:
        """What each side of the alarm does in them, in words."""
        texts = {True: "rises and clears", False: "does **not** both rise and clear: an error in it may pass"}
        turned = _turned(self.contents.params, self.column("alarm"))
        return "".join(f"\nThe {side} side of the alarm {texts[both]}." for side, both in turned.items())

    def column(self, field: str) -> Ints:
        """Return one field of all steps."""
        return np.asarray(self._fields[:, STEP_FIELDS.index(field)])

    def _run(self) -> tuple[Ints, Ints, int, tuple[Kind, ...]]:
        params = self.contents.params
        for more in (False, True):
            long = _long(params) if more else ()
            length = 4 * LENGTH if more else LENGTH
            given = _inputs(params, np.arange(STRETCHES * length), long)
            monitor, parts, states = Monitor(params), [], 0
            for step in range(0, STRETCHES * length, EVERY):
                if self.saves:
                    states = self._saved(monitor.save(), step % (TRIED * length) == 0, states)
                if params.feedback is not None:
                    _label(monitor, step)
                first = step
                if step % (RESET * length) == 0:
                    first += 1
                    parts.append(taken(monitor, *_rows(given, step, first)))
                    monitor.reset()
                parts.append(taken(monitor, *_rows(given, first, step + EVERY)))
            fields, signals = (np.concatenate(each) for each in zip(*parts, strict=True))
            turned = _turned(params, fields[:, STEP_FIELDS.index("alarm")])
            if all(turned.values()) and len(fields) > 2 * params.warmup:
                break
        return fields, signals, states, long

    def _saved(self, state: bytes, tried: bool, crc: int) -> int:
        """Add a saved state, and what becomes of changed ones, to a CRC."""
        crc = zlib.crc32(state[:-4], crc)
        if not tried:
            return crc
        other, at = Monitor(self.contents.params), 0
        while at < len(state) - 4:
            for change in CHANGES:
                body = bytearray(state[:-4])
                body[at] = (body[at] + change) % 256
                try:
                    other.load(bytes(body) + zlib.crc32(body).to_bytes(4, "little"))
                except ValueError:
                    crc = zlib.crc32(b"\0", crc)
                else:
                    crc = zlib.crc32(b"\1", crc)
            at += 1 if at < 64 else self.stride
        return crc

    @property
    def fields(self) -> dict[str, Any]:
        """What its header and its source hold beside what every text may name."""
        contents, params = self.contents, self.contents.params
        length, den = self.steps // STRETCHES, params.integers()["level_den"]
        low, high = (round(bound * den) for bound in params.debt_bounds)
        words = [self._fields.astype("<u4").view(np.uint8), self._signals.astype("<u2").view(np.uint8)]
        crcs = (f"    crc = tcuq_check_crc(crc, (uint32_t)got.{field}, 4);\n" for field in STEP_FIELDS)
        center = "64u + (tcuq_check_draw(at) & 127u)"
        if params.centers is not None:
            center = "(uint32_t)(tcuq_check_params->centers[at] + 128)"
        parts: dict[str, str] = dict.fromkeys(("table", "check", "call"), "")
        for part in self._parts:
            for each in parts:
                parts[each] += contents.text(f"part_{each}.c", **part, PART=part["part"].upper())
        return {
            "about": self.about,
            "steps": self.steps,
            "saves": self.saves,
            "save": int(self.saves),
            **{f"part_{each}s": text or None for each, text in parts.items()},
            "center": center,
            "features_parameter": ", int8_t *features" * bool(params.features)
            + ", int16_t *gauges" * bool(contents.gauges),
            "spread": params.features or contents.gauges,
            "stretch": LENGTH,
            "short": SHORT,
            "long": ", ".join(f"{{{a}, {b}, {c}}}" for a, b, c in self._long),
            "every": EVERY,
            "tried": TRIED * length,
            "reset": RESET * length,
            "even": 256 // params.classes,
            "span": _span(params.classes),
            "fields": "".join(crcs),
            "stride": self.stride,
            "low": low,
            "high": high,
            "steps_crc": zlib.crc32(np.concatenate(words, axis=1).tobytes()),
            "states_crc": self._states,
        }


def _before(contents: Contents) -> Iterator[dict[str, Any]]:
    """Give the checks of what stands before the monitor, see templates/part_check.c.in."""
    name = contents.name
    if contents.table is not None:
        classes = np.arange(contents.params.classes)
        drawn = _draw(classes).astype(np.int64)
        # Near each other, anywhere, and at the two ends of the table.
        given = np.stack([drawn % 16 - 8, drawn % 256 - 128, np.where(classes == 1, 127, -128)])
        call = f"tcuq_softmax({name}_softmax, {name}_check_logits[row], {name.upper()}_CLASSES, got)"
        out = posteriors(given.astype(np.int8), contents.table)
        yield _part("softmax", "logits", "CLASSES", call, given, out)
    if contents.projection is not None:
        drawn = _draw(np.arange(contents.width)).astype(np.int64)
        given = np.stack([drawn % 256 - 128, drawn % 40 - 20])
        call = f"tcuq_project(&{name}_projection, {name}_check_wide[row], got)"
        yield _part("projection", "wide", "FEATURES", call, given, contents.projection(given.astype(np.int8)))


def _part(part: str, table: str, size: str, call: str, given: Ints, out: Int8) -> dict[str, Any]:
    rows, width = given.shape
    fields = {"part": part, "table": table, "size": size, "call": call, "given": given, "width": width}
    listed = "".join(f"{line}\n" for line in braced(given.tolist()))
    return fields | {"count": rows, "rows": listed, "digest": zlib.crc32(out.tobytes())}
