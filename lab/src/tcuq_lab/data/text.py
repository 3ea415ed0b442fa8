"""Running text that every Python brings along: chunks of the sources of ten modules, a class each.

No download is needed, the license is Python's own, and each document is long enough for parts that share no
byte. The data sheets of scikit-learn were the other candidate; they are too short, 700 to 11,000 bytes each.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

from .dataset import Dataset

DOCUMENTS = (
    "argparse",
    "difflib",
    "doctest",
    "inspect",
    "ipaddress",
    "mailbox",
    "pickletools",
    "tarfile",
    "turtle",
    "typing",
)
"""A class each. All are one file of more than 64 KiB in every Python from 3.10 on."""

OTHERS = {"dev": "pydoc", "test": "subprocess"}
"""Modules that are none of the classes, one for each part; as long as those."""

CHUNK = 64
STRIDE = 16
STRETCH = 2048
"""Bytes of a chunk, of its way to the next, and of a stretch, all chunks of which belong to one part."""

_STRETCHES = 32  # of a document; what lies behind is left out, so that classes are of equal size
_TURNS = {"train": (0, 1, 2, 3, 4, 5), "dev": (6,), "test": (7,)}  # of every eight stretches in a row


def load_text(which: str) -> Dataset:
    """Return a part: uint8 chunks (n, 64) in the order of the text, document after document.

    Of every eight stretches in a row, six are for training, then one for dev and one for test. The
    documents are those of the running Python, so that examples differ a little between its versions.
    """
    turns = _TURNS[known("part of text", which, _TURNS)]
    x, y = [], []
    for label, name in enumerate(DOCUMENTS):
        for number, stretch in enumerate(document(name)):
            if number % 8 in turns:
                chunks = np.lib.stride_tricks.sliding_window_view(stretch, CHUNK)[::STRIDE]
                x.append(chunks)
                y.append(np.full(len(chunks), label, dtype=np.int64))
    source = f"source of {len(DOCUMENTS)} modules of Python {sys.version.split()[0]}; {which} stretches"
    return Dataset("text", which, np.concatenate(x), np.concatenate(y), "Python (PSF) license", source)


def load_other(module: str) -> Dataset:
    """Return chunks of a module that is none of the classes; all are of one class of their own.

    Examples
    --------
    >>> load_other(OTHERS["dev"]).x.shape
    (1024, 64)
    """
    x = document(module).reshape(-1, CHUNK)
    source = f"source of the module {module} of Python {sys.version.split()[0]}"
    return Dataset(module, "all", x, np.zeros(len(x), np.int64), "Python (PSF) license", source)


def document(name: str) -> npt.NDArray[np.uint8]:
    """Return the first 64 KiB of a module's source as stretches (32, 2048)."""
    spec = find_spec(name)  # looks for the file; nothing of the module is run
    file = None if spec is None or spec.origin is None else Path(spec.origin)
    if file is None or file.suffix != ".py" or not file.is_file():
        raise ValueError(f"the source of the module {name} is missing, expected a Python with its library")
    content = file.read_bytes().replace(b"\r\n", b"\n")
    if len(content) < _STRETCHES * STRETCH:
        raise ValueError(f"{file}: {len(content)} bytes, expected {_STRETCHES * STRETCH} or more")
    return np.frombuffer(content, np.uint8, _STRETCHES * STRETCH).reshape(_STRETCHES, STRETCH)
