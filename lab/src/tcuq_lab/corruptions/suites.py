"""All suites of corruptions by name; lists need numpy alone."""

from __future__ import annotations

from tcuq.base.checks import known

from ..data import splits
from .mnist import MNIST_C
from .motion import MOTION_C
from .natural import CIFAR10_C, IMAGENET_C, TINYIMAGENET_C
from .speech import SPEECH_C
from .suite import Suite
from .text import TEXT_C

_SUITES = {
    each.name: each for each in (MNIST_C, CIFAR10_C, TINYIMAGENET_C, IMAGENET_C, SPEECH_C, TEXT_C, MOTION_C)
}

_OF_DATA = {
    "mnist": "mnist_c",
    "mnist_pairs": "mnist_c",
    "cifar10": "cifar10_c",
    "cifar10_animals": "cifar10_c",
    "tinyimagenet": "tinyimagenet_c",
    "tinyimagenet20": "tinyimagenet_c",
    "speech_commands": "speech_c",
    "speech_commands_v2": "speech_c",
    "text": "text_c",
    "signs": "cifar10_c",
    "motion": "motion_c",
}


def suites() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(_SUITES)


def suite(name: str) -> Suite:
    """Return a suite by its name."""
    return _SUITES[known("suite", name, _SUITES)]


def suite_of(name: str) -> Suite:
    """Return the suite that belongs to a dataset."""
    if name not in _OF_DATA:
        splits(name)  # a dataset that is unknown altogether is named with its nearest
        raise ValueError(f"dataset {name!r} has no corruptions, expected one of {', '.join(_OF_DATA)}")
    return suite(_OF_DATA[name])
