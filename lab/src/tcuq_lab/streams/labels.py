"""Labels of the data that a stream is made from, which are all that its plan needs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..data.keywords import keyword_labels
from ..data.ood import ood_labels, ood_name
from ..data.parts import load_part, split_of
from .description import Description

Labels = npt.NDArray[np.int64]


def part_labels(name: str, part: str) -> Labels:
    """Return the labels of `load_part`, without decoding speech."""
    split = split_of(name, part)
    return keyword_labels(split) if name == "speech_commands" else load_part(name, part).y


def labels_for(description: Description) -> tuple[Labels, dict[str, Labels]]:
    """Return what `build` needs for a description: labels, and those of the OOD sets by name."""
    about = description
    for each in about.ood:
        accepted = ood_name(about.dataset, about.part)
        if each.name != accepted:
            raise ValueError(
                f"OOD set {each.name!r} does not go with {about.dataset} {about.part}; {accepted} does"
            )
    ood = {each.name: ood_labels(about.dataset, about.part) for each in about.ood}
    return part_labels(about.dataset, about.part), ood
