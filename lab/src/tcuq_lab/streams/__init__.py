"""What a monitor is shown: streams, described by a small JSON that rebuilds them bit for bit."""

from .description import Description, Ood, Shift
from .dwell import Changing, Geometric, Pareto, Recorded, Trace
from .held import Held
from .layout import Bursts, Literal, Ramp, Segments, StartsShifted, Stationary
from .plan import Chunk
from .playback import Shown, inputs, labels_for, part_labels
from .sliding import Sliding
from .stream import Mismatch, Span, Stream, build, labels_digest, overview, seal, steps

__all__ = [
    "Bursts",
    "Changing",
    "Chunk",
    "Description",
    "Geometric",
    "Held",
    "Literal",
    "Mismatch",
    "Ood",
    "Pareto",
    "Ramp",
    "Recorded",
    "Segments",
    "Shift",
    "Shown",
    "Sliding",
    "Span",
    "StartsShifted",
    "Stationary",
    "Stream",
    "Trace",
    "build",
    "inputs",
    "labels_digest",
    "labels_for",
    "overview",
    "part_labels",
    "seal",
    "steps",
]
