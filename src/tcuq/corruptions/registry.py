"""All suites of corruptions by name; lists need numpy alone."""

from __future__ import annotations

from ..checks import known
from .mnist import MNIST_C
from .natural import CIFAR10_C, IMAGENET_C, TINYIMAGENET_C
from .speech import SPEECH_C
from .suite import Suite

_SUITES = {each.name: each for each in (MNIST_C, CIFAR10_C, TINYIMAGENET_C, IMAGENET_C, SPEECH_C)}


def suites() -> tuple[str, ...]:
    """Return the names of all suites.

    Examples
    --------
    >>> suites()
    ('mnist_c', 'cifar10_c', 'tinyimagenet_c', 'imagenet_c', 'speech_c')
    """
    return tuple(_SUITES)


def suite(name: str) -> Suite:
    """Return a suite by its name.

    Examples
    --------
    >>> len(suite("cifar10_c").kinds)
    19
    """
    return _SUITES[known("suite", name, _SUITES)]
