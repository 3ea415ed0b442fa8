"""Backbones by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tcuq.base.checks import integer, known, number

from .backbone import Backbone
from .cnn1d import cnn1d
from .cnn4 import cnn4
from .dscnn import dscnn
from .mobilenetv2 import mobilenetv2
from .resnet8 import resnet8
from .resnet50 import resnet50
from .text_transformer import text
from .vit import vit

BACKBONES: dict[str, Callable[..., Backbone]] = {
    "cnn4": cnn4,
    "cnn1d": cnn1d,
    "dscnn": dscnn,
    "resnet8": resnet8,
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "vit": vit,
    "text": text,
}


def backbone(name: str, /, **options: Any) -> Backbone:
    """Return a backbone with fresh weights."""
    build = BACKBONES[known("backbone", name, BACKBONES)]
    accepted = inspect.signature(build).parameters
    for option, value in options.items():
        check_option(name, known(f"option of {name}", option, accepted), value, accepted[option].default)
    return build(**options)


def check_option(name: str, option: str, value: Any, default: Any) -> None:
    """Refuse a value that is no number of the kind of the default.

    Examples
    --------
    >>> check_option("resnet8", "width", "wide", 16)
    Traceback (most recent call last):
    ...
    tcuq.InputError: option width of resnet8 is 'wide', expected an integer, 1 to 4096
    """
    what = f"option {option} of {name}"
    if isinstance(default, int):
        integer(what, value, 1, 4096)
    else:
        number(what, value, 0.01, 64)
