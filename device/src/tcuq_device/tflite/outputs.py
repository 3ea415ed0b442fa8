"""Choose the outputs of a graph as `tcuq record` does: what the monitor reads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tcuq.base.errors import InputError
from tcuq.base.spelling import option
from tcuq.log.logits import softmax_table

from ..graph import steps
from .builder import GraphBuilder
from .model import Operator
from .moves import SHAPES

WIDEST = 256
"""Features of a log at most."""
MOST_CLASSES = 32_000
MANY = 32
"""Outputs from which on as many of them as inputs look like an autoencoder."""


@dataclass(frozen=True)
class OutputChoice:
    """Which outputs are asked for; `notes` get what the user should know.

    With `softmax`, outputs are logits: add a softmax, the one of `tcuq record --logits`. `features` is the
    name or number of a tensor, by default the input of the last fully connected layer; False leaves them out.
    `posteriors` is the name of the output with the posteriors, or the logits, of a model with several.
    """

    softmax: bool = False
    features: str | bool | None = None
    posteriors: str | None = None
    notes: list[str] = field(default_factory=list)


def outputs_of(builder: GraphBuilder, asked: OutputChoice) -> dict[str, str]:
    """Return the outputs of a graph, and add the steps that they need.

    The posteriors are `probs`: a softmax of a row, or the one value of a sigmoid beside what it lacks of 1.
    Logits are `logits`, other outputs `output_1` and so on. Features are `features`.
    """
    main = _main(builder, asked)
    found: dict[str, str] = {}
    for at, number in enumerate(builder.model.outputs, 1):
        name = builder.name(number)
        if number != main:
            found[f"output_{at}"] = name
            continue
        kind, chosen = _posteriors(builder, name, _code(builder, number), asked)
        found[kind or f"output_{at}"] = chosen
    features = _features(builder, asked)
    return found | ({} if features is None else {"features": features})


def _main(builder: GraphBuilder, asked: OutputChoice) -> int | None:
    """Return the output that may hold posteriors."""
    tensors, outputs = builder.model.tensors, builder.model.outputs
    if asked.posteriors is not None:
        named = [each for each in outputs if tensors[each].name == asked.posteriors]
        if not named:
            names = ", ".join(tensors[each].title for each in outputs)
            problem = f"has no output {asked.posteriors!a}, expected one of {names}"
            raise InputError("unknown", problem, "posteriors")
        return named[0]
    if len(outputs) == 1:
        return outputs[0]
    curved = [each for each in outputs if _code(builder, each) == "SOFTMAX"]
    if len(curved) != 1:
        asked.notes.append(
            f"the model has {len(outputs)} outputs; name that of the posteriors with {option('posteriors')}"
        )
        return None
    return curved[0]


def _operator(builder: GraphBuilder, number: int) -> Operator | None:
    """Return the operator behind a tensor, past all changes of shape."""
    makers = {made: each for each in builder.model.operators for made in each.outputs}
    found = makers.get(number)
    while found is not None and found.code in SHAPES:
        found = makers.get(found.inputs[0])
    return found


def _code(builder: GraphBuilder, number: int) -> str:
    """Return the operator behind an output; a softmax must be that of one row."""
    operator = _operator(builder, number)
    if operator is None:
        return ""
    tensor = builder.target(operator)
    rows = operator.code == "SOFTMAX" and not tensor.shape[-1] == tensor.size > 1
    return "" if rows else operator.code


def _posteriors(builder: GraphBuilder, name: str, code: str, asked: OutputChoice) -> tuple[str | None, str]:
    tensor = builder.tensors[name]
    if code == "SOFTMAX":
        if asked.softmax:
            raise InputError(
                "conflict", f"ends in a softmax already; leave out {option('softmax')}", "softmax"
            )
        return "probs", builder.vector(name)
    if asked.softmax:
        if not 2 <= tensor.shape[-1] == tensor.size <= MOST_CLASSES:
            problem = f"the output has shape {tensor.shape}, expected a row of 2 to {MOST_CLASSES} logits"
            raise InputError("value", problem, "softmax")
        logits = builder.vector(name)
        target = builder.extra((tensor.size,), 1 / 256, -128)
        builder.steps.append(steps.Softmax(logits, target, softmax_table(tensor.scale)))
        return "probs", target
    if code == "LOGISTIC" and tensor.size == 1:
        one, other = builder.vector(name), builder.extra((1,), 1 / 256, -128)
        values = np.minimum(127, -np.arange(-128, 128)).astype(np.int8)
        builder.steps.append(steps.Table(one, other, values))
        both = builder.extra((2,), 1 / 256, -128)
        builder.steps.append(steps.Concat((other, one), both, 0))
        return "probs", both
    if code == "LOGISTIC":
        asked.notes.append(f"outputs are {tensor.size} sigmoids, not posteriors: a monitor cannot read them")
        return None, name
    if 1 < tensor.size == tensor.shape[-1]:
        add = option("softmax")
        problem = f"the model has no softmax: its output is `logits`. For a monitor, add one ({add})"
        given = builder.tensors[builder.names[builder.model.inputs[0]]]
        if tensor.size == given.size >= MANY:
            problem = (
                f"the model has no softmax, and as many outputs as inputs, {tensor.size}. A monitor needs a "
                "classifier: it cannot watch an autoencoder"
            )
        asked.notes.append(problem)
        return "logits", builder.vector(name)
    return None, name


def _features(builder: GraphBuilder, asked: OutputChoice) -> str | None:
    model = builder.model
    if asked.features is False:
        return None
    if asked.features is None or asked.features is True:
        dense = [each for each in model.operators if each.code == "FULLY_CONNECTED"]
        if not dense:
            why = "the model has no fully connected layer"
            asked.notes.append(f"features are left out: {why}; name a tensor with {option('features')}")
            return None
        number = dense[-1].inputs[0]
    else:
        text = str(asked.features)
        named = [at for at, each in enumerate(model.tensors) if each.name == text]
        number = named[0] if named else int(text) if text.isdecimal() else -1
        if number not in builder.names:
            last = ", ".join(f"{each} {model.tensors[each].title}" for each in sorted(builder.names)[-5:])
            raise InputError("unknown", f"computes no tensor {text!a}; the last ones are {last}", "features")
    tensor = builder.tensors[builder.names[number]]
    if tensor.size <= WIDEST:
        return builder.vector(tensor.name)
    problem = f"tensor {model.tensors[number].title} has {tensor.size:,} values, a log takes at most {WIDEST}"
    if asked.features:
        raise InputError("limit", f"{problem}; name a smaller one with {option('features')}", "features")
    asked.notes.append(f"features are left out: {problem}; name a smaller one with {option('features')}")
    return None
