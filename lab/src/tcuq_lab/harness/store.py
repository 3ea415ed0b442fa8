"""Cells as files: what a row gave on the streams of one network, written whole or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole

from .declare import Key, Measured
from .intervals import Drawn, Pool

KEPT = 5
"""Format of cells; those of another are made again."""


def save(place: Path, found: Measured, seconds: float) -> None:
    """Write figures, choices and how long they took."""
    figures = found.figures
    about = {"choices": found.choices, "seconds": seconds}
    pools = [(at, each.pool) for at, each in enumerate(figures.values()) if each.pool is not None]
    parts = [np.stack([pool.values, pool.stretches]) for _, pool in pools]
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        keys=np.array(list(figures), dtype=np.str_).reshape(-1, len(Key._fields)),
        values=np.array([each.value for each in figures.values()]),
        replicates=np.array([each.replicates for each in figures.values()], dtype=np.float32),
        counted=np.array([each[2:5] for each in figures.values()], dtype=np.float64).reshape(-1, 3),
        pooled=np.concatenate(parts, axis=1) if parts else np.empty((2, 0)),
        pools=np.array([(at, len(pool.values), pool.size) for at, pool in pools]).reshape(-1, 3),
        streams=np.array([pool.name for _, pool in pools], dtype=np.str_),
        about=np.array(json.dumps(about, allow_nan=False)),
    )
    write_whole(place, buffer.getvalue())


def load(place: Path) -> tuple[Measured, float]:
    """Return what `save` wrote."""
    with np.load(place, allow_pickle=False) as file:
        given: Mapping[str, Any] = {name: file[name] for name in file.files}
    about = json.loads(str(given["about"]))
    found = [
        Drawn(float(value), drawn, int(free), float(events), float(exposure))
        for value, drawn, (free, events, exposure) in zip(
            given["values"], given["replicates"], given["counted"], strict=True
        )
    ]
    start = 0
    for (at, length, size), stream in zip(
        given["pools"].astype(np.int64).tolist(), given["streams"], strict=True
    ):
        of, number = given["pooled"][:, start : start + length]
        found[at] = found[at]._replace(pool=Pool(of, number.astype(np.int64), size, str(stream)))
        start += length
    keys = (Key(*map(str, key)) for key in given["keys"])
    return Measured(dict(zip(keys, found, strict=True)), about["choices"]), about["seconds"]
