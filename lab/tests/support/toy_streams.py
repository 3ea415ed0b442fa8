"""A plan of a stream over a made dataset, and the lengths of its runs."""

import numpy as np

from tcuq_lab.streams import Description, Geometric, Segments, Shift

LABELS = np.arange(3000) * 7 % 10
FOG, SNOW = Shift("fog", (3,)), Shift("snow", (1, 2, 3, 4, 5))


def describe(**changes) -> Description:
    fields = {"dataset": "toy", "part": "dev", "seed": 3, "steps": 4000, "shifts": (FOG, SNOW)}
    return Description(**{**fields, "dwell": Geometric(16), "layout": Segments(), **changes})


def runs_of(values):
    edges = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])
    return np.diff(edges)
