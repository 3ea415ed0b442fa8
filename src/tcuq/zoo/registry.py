"""Backbones by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..checks import known
from .backbone import Backbone
from .cnn4 import cnn4
from .dscnn import dscnn
from .mobilenetv2 import mobilenetv2
from .resnet8 import resnet8
from .resnet50 import resnet50
from .text import text
from .vit import vit

BACKBONES: dict[str, Callable[..., Backbone]] = {
    "cnn4": cnn4,
    "dscnn": dscnn,
    "resnet8": resnet8,
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "vit": vit,
    "text": text,
}


def backbone(name: str, **options: Any) -> Backbone:
    """Return a backbone with fresh weights.

    Examples
    --------
    >>> backbone("resnet9")
    Traceback (most recent call last):
    ...
    ValueError: backbone 'resnet9' is unknown; did you mean resnet8?
    """
    return BACKBONES[known("backbone", name, BACKBONES)](**options)
