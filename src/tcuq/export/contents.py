"""What goes into an exported package: a monitor, its name, and what stands before it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.params import Params
from .names import check_name
from .projection import IntegerProjection, check_outputs
from .softmax import softmax_table

PARAMS_BYTES, HEAD_BYTES = 152, 44
"""`sizeof` tcuq_params_t and tcuq_evidence_t with 32-bit pointers."""

CORE_HEADERS = ("tcuq.h", "tcuq_fields.h")
CORE_SOURCES = ("tcuq.c", "tcuq_error.c", "tcuq_params.c", "tcuq_signals.c", "tcuq_state.c")
CORE_PRIVATE = ("tcuq_internal.h", "tcuq_math.h", "tcuq_rules.h", "tcuq_tables.h")
"""Files of the core: what a program includes, what it compiles, and what only the core reads."""

PROJECTION_BYTES = 16
"""`sizeof(tcuq_projection_t)` with 32-bit pointers."""


@dataclass(frozen=True, eq=False)
class Contents:
    """A monitor to export.

    Parameters
    ----------
    params : Params
    name : str
        Of the C constant, and the beginning of every name that belongs to this monitor.
    logits_scale : float, optional
        The network gives logits of this scale; the package turns them into posteriors.
    projection : IntegerProjection, optional
        The network gives wide features; the package projects them.

    Examples
    --------
    >>> Contents(Params(classes=10), "kws", logits_scale=0.1).sources[:3]
    ('kws.c', 'kws_selfcheck.c', 'tcuq.c')
    """

    params: Params
    name: str = "monitor"
    logits_scale: float | None = None
    projection: IntegerProjection | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.logits_scale is not None:
            softmax_table(self.logits_scale)
        if self.projection is not None:
            check_outputs(self.projection.outputs, self.params)

    @property
    def macro(self) -> str:
        """The beginning of this monitor's macros."""
        return self.name.upper()

    @cached_property
    def table(self) -> npt.NDArray[np.uint16] | None:
        """Return the table of the softmax, where there is one."""
        return None if self.logits_scale is None else softmax_table(self.logits_scale)

    @property
    def width(self) -> int:
        """Features that the network gives."""
        return self.params.features if self.projection is None else self.projection.inputs

    @property
    def core_files(self) -> tuple[str, ...]:
        """Files that every exported monitor of this kind shares."""
        files = [*CORE_HEADERS, *CORE_SOURCES, *CORE_PRIVATE, "tcuq_LICENSE.txt"]
        if self.logits_scale is not None:
            files += ["tcuq_softmax.h", "tcuq_softmax.c"]
        if self.projection is not None:
            files += ["tcuq_projection.h", "tcuq_projection.c"]
        return tuple(files)

    @property
    def sources(self) -> tuple[str, ...]:
        """What a firmware compiles."""
        own = (f"{self.name}.c", f"{self.name}_selfcheck.c")
        return (*own, *(file for file in self.core_files if file.endswith(".c")))

    @property
    def flags(self) -> str:
        """Flags of the compiler that leave out the code of signals which are not used."""
        mask = f"-DTCUQ_SIGNALS=0x{self.params.integers()['signals']:03X}u"
        return mask + (" -DTCUQ_EVIDENCE=1" if self.params.evidence else "")

    @property
    def constant_bytes(self) -> int:
        """Bytes of NAME.c with 32-bit pointers."""
        params, through = self.params, self.projection
        found = PARAMS_BYTES + 3 * len(params.lags)
        if params.evidence is not None:
            found += HEAD_BYTES + 2 * params.classes
        if self.table is not None:
            found += 2 * len(self.table)
        if through is not None:
            found += PROJECTION_BYTES + through.matrix.size + 5 * through.outputs
        return found

    def fill(self, text: str, **more: Any) -> str:
        """Put this monitor's values into a text with fields in braces."""
        params, name = self.params, self.name
        return text.format(
            **{
                "name": name,
                "NAME": self.macro,
                "classes": params.classes,
                "features": params.features,
                "width": self.width,
                "ring": params.ring_bytes,
                "state": params.state_bytes,
                "flags": self.flags,
                "mask": f"0x{params.integers()['signals']:03X}u",
                **more,
            }
        )
