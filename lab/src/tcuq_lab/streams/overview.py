"""What a stream is like, in a few figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from .stream import Stream


def overview(stream: Stream) -> dict[str, Any]:
    """Return figures about a stream.

    Examples
    --------
    >>> from tcuq_lab.streams import Description, Geometric, Stationary, build
    >>> plain = Description(
    ...     dataset="toy", part="dev", seed=0, steps=50, dwell=Geometric(1), layout=Stationary()
    ... )
    >>> overview(build(plain, np.arange(20) % 2))["sources"]
    {'clean': {'steps': 50, 'examples': 20}}
    """
    sources = {}
    for place, name in enumerate(stream.sources):
        index = stream.index[stream.source == place]
        if len(index):
            sources[name] = {"steps": len(index), "examples": len(np.unique(index))}
    shifted = stream.shift > 0
    edges = np.concatenate([[0], np.flatnonzero(np.diff(stream.shift)) + 1, [len(stream)]])
    lengths, bad = np.diff(edges), shifted[edges[:-1]]
    return {
        "steps": len(stream),
        "mean_run": _mean_run(stream),
        "segments": {
            "clean": {"count": int((~bad).sum()), "mean": _mean(lengths[~bad])},
            "shifted": {"count": int(bad.sum()), "mean": _mean(lengths[bad])},
        },
        "shifted": float(shifted.mean()),
        "change_points": len(stream.change_points()),
        "sources": sources,
    }


def _mean_run(stream: Stream) -> float | None:
    """Return the mean run of a class over steps that have one; a run that OOD steps cut counts twice."""
    known = stream.label >= 0
    begins = np.ones(len(stream), dtype=np.bool_)
    begins[1:] = stream.label[1:] != stream.label[:-1]
    runs = int((begins & known).sum())
    return int(known.sum()) / runs if runs else None


def _mean(lengths: Any) -> float | None:
    return float(lengths.mean()) if len(lengths) else None
