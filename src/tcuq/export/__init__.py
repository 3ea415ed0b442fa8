"""A monitor as a package for firmware: C files, or a library of a platform."""

from __future__ import annotations

from ..log.logits import posteriors, softmax_table
from .contents import check_name
from .forms import FORMS
from .package import export, refuse_other_form, sources
from .projection import IntegerProjection, integer_projection, load_projection

__all__ = [
    "FORMS",
    "IntegerProjection",
    "check_name",
    "export",
    "integer_projection",
    "load_projection",
    "posteriors",
    "refuse_other_form",
    "softmax_table",
    "sources",
]
