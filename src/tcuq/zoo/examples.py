"""Parts of a data set as a network takes them: pictures and text as they are, sound through the front end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import Dataset


def inputs_of(dataset: Dataset) -> npt.NDArray[Any]:
    """Return what a backbone is given for the examples of a data set.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    array
        The pictures or bytes themselves, or float32 MFCC (n, 49, 10) of sound.
    """
    return front_end(dataset.x)


def front_end(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return pictures as they are, and the MFCC of sound."""
    if x.dtype == np.int16:
        from ..audio import mfcc

        return mfcc(x)
    return x
