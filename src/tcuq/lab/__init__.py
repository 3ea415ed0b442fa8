"""The lab: streams that a monitor is shown, described so that anyone can build them again."""

from .description import Description, Ood, Shift
from .dwell import Geometric, Trace
from .inputs import Shown, inputs, suite_of
from .labels import labels_for, part_labels
from .layout import Bursts, Literal, Ramp, Segments, StartsShifted, Stationary
from .ood import distinct_interval, load_ood, ood_labels, ood_name
from .overview import overview
from .plan import Chunk
from .stream import Mismatch, Span, Stream, build, labels_digest, seal, steps

__all__ = [
    "Bursts",
    "Chunk",
    "Description",
    "Geometric",
    "Literal",
    "Mismatch",
    "Ood",
    "Ramp",
    "Segments",
    "Shift",
    "Shown",
    "Span",
    "StartsShifted",
    "Stationary",
    "Stream",
    "Trace",
    "build",
    "distinct_interval",
    "inputs",
    "labels_digest",
    "labels_for",
    "load_ood",
    "ood_labels",
    "ood_name",
    "overview",
    "part_labels",
    "seal",
    "steps",
    "suite_of",
]
