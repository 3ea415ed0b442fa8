"""Which word each clip of Speech Commands says, and its label, without decoding any sound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from .dataset import data_folder, present, splits
from .folders import OTHER, label_of, speech_names
from .packed import members


def words(split: str) -> npt.NDArray[np.str_]:
    """Return the word of each clip, in the order in which `tcuq_lab.data.load` gives them."""
    form = present("speech_commands", split)
    if form is None:
        raise ValueError(f"speech_commands {split} is not in {data_folder()} (see tcuq-lab data list)")
    path = data_folder() / form.files[0]
    if path.suffix == ".npz":
        return _packed(path, split)
    return np.array([name.partition("/")[0] for name in speech_names(path, split)], dtype=np.str_)


def keyword_labels(split: str) -> npt.NDArray[np.int64]:
    """Return the labels of the clips that say a keyword."""
    labels = np.array([label_of(word) for word in words(split).tolist()], dtype=np.int64)
    return labels[labels < OTHER]


def _packed(path: Path, split: str) -> npt.NDArray[np.str_]:
    found = members(path, "word", "words", "split")
    marks, names = found["word"], found["words"]
    if marks.dtype.kind not in "iu" or names.dtype.kind != "U" or int(marks.max(initial=0)) >= len(names):
        raise ValueError(f"{path}: word is {marks.dtype} and words {names.shape}, expected places in words")
    rows = found["split"] == splits("speech_commands").index(split)
    return np.asarray(names[marks[rows]])
