"""Import a TFLite file as a graph, with its name and digest."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from tcuq.base.errors import located
from tcuq.base.limits import Limits, read_limited

from ..graph.check import RESERVED
from ..graph.model import Graph
from .convert import graph_of
from .outputs import OutputChoice
from .read import read_model


@dataclass(frozen=True, eq=False)
class Imported:
    """A model as a graph.

    Parameters
    ----------
    graph : Graph
        Tensors and steps, as `Network` takes them.
    operators : mapping of str to int
        How often the model has each operator.
    notes : list of str
        What the user should know.

    Examples
    --------
    >>> found = import_model("model.tflite")  # doctest: +SKIP
    >>> found.operators.most_common(1)  # doctest: +SKIP
    [('CONV_2D', 4)]
    """

    graph: Graph
    operators: Counter[str]
    notes: list[str]


def import_model(
    path: str | Path, name: str | None = None, asked: OutputChoice | None = None, limits: Limits | None = None
) -> Imported:
    """Read an int8 TFLite file and return it as a graph.

    Parameters
    ----------
    path : path
        The ``.tflite`` file.
    name : str, optional
        Of the graph, a C identifier; made from that of the file by default.
    asked : OutputChoice, optional
        Which outputs.
    limits : Limits, optional
        `model` is for the bytes of the file.

    Returns
    -------
    Imported
        The graph, and notes on what was left out.

    Raises
    ------
    ValueError
        In one line, naming the file, the operator and the tensor.

    Examples
    --------
    >>> from tcuq_device.kernels.host import Network  # doctest: +SKIP
    >>> network = Network(import_model("model.tflite").graph)  # doctest: +SKIP
    """
    path = Path(path)
    wanted = asked or OutputChoice()
    content = read_limited(path, "model", limits)
    model = read_model(content, str(path), limits)
    with located(str(path)):
        graph = graph_of(model, name or name_of(path), wanted)
    # An operator with several outputs counts once.
    operators = Counter(code for _, code in {(each.number, each.code) for each in model.operators})
    about = {
        "file": path.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "operators": ", ".join(f"{count} {code}" for code, count in sorted(operators.items())),
    }
    return Imported(replace(graph, about=about), operators, wanted.notes)


def name_of(path: str | Path) -> str:
    """Return a C identifier from the name of a file.

    Examples
    --------
    >>> name_of("models/Keyword-Spotting v3.int8.tflite"), name_of("8bit.tflite"), name_of("int.tflite")
    ('keyword_spotting_v3_int8', 'model_8bit', 'model_int')
    """
    words = re.sub(r"[^a-z0-9]+", "_", Path(path).stem.lower()).strip("_")[:48]
    odd = not words or words[0].isdigit() or words in RESERVED or words.startswith("tcuq")
    return f"model_{words}".rstrip("_") if odd else words
