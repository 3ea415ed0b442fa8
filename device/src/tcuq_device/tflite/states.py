"""Variables of a streaming model as state tensors.

Such a model has a VAR_HANDLE for each variable, READ_VARIABLE, ASSIGN_VARIABLE, and CALL_ONCE with a subgraph
that fills them before the first run. Here a variable becomes a tensor by the number of its handle, that
READ_VARIABLE copies and ASSIGN_VARIABLE replaces; the other operators go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tcuq.base.errors import InputError

from .model import Model
from .moves import SHAPES


def _names(model: Model) -> dict[int, str]:
    """Return the names of variables by the tensors of their handles."""
    handles = [each for each in model.operators if each.code == "VAR_HANDLE"]
    return {number: each.options.state for each in handles for number in each.outputs}


def _filled(model: Model) -> dict[str, int]:
    """Return the bytes that a subgraph fills variables with, by their names."""
    names, found = _names(model), {}
    for operator in model.operators:
        data = model.tensors[operator.inputs[-1]].data if len(operator.inputs) == 2 else None
        if operator.code == "ASSIGN_VARIABLE" and data is not None and data.size and not np.ptp(data):
            found[names.get(operator.inputs[0], "")] = int(data.flat[0])
    return found


def with_states(model: Model, subgraph: Callable[[int], Model]) -> Model:
    """Return a model whose variables are states."""
    names = _names(model)
    if not names:
        return model
    handles = {name: handle for handle, name in reversed(names.items())}
    values: dict[str, int] = {}
    for operator in model.operators:
        if operator.code == "CALL_ONCE":
            values |= _filled(subgraph(operator.options.flags[0]))
    tensors, kept, states = list(model.tensors), [], {}
    for operator in model.operators:
        if operator.code in ("VAR_HANDLE", "CALL_ONCE"):
            continue
        inputs = tuple(handles[names[each]] if each in names else each for each in operator.inputs)
        kept.append(replace(operator, inputs=inputs))
        if operator.code == "READ_VARIABLE" and len(inputs) == len(operator.outputs) == 1:
            name = names.get(inputs[0], "")
            if not -128 <= values.get(name, 128) <= 127:
                problem = f"state {name!a} is filled before the first run by no constant byte, expected one"
                raise InputError("unsupported", problem, "states")
            tensors[inputs[0]] = replace(model.tensors[operator.outputs[0]], name=name)
            states[inputs[0]] = values[name]
    return replace(model, tensors=tensors, operators=kept, states=states)


def overwritten(model: Model, at: int) -> bool:
    """Return whether a state changes while what operator `at`, a READ_VARIABLE, read is still needed."""
    operator = model.operators[at]
    same, changed = set(operator.outputs), False
    for later in model.operators[at + 1 :]:
        changed |= later.code == "ASSIGN_VARIABLE" and later.inputs[0] == operator.inputs[0]
        if changed and not same.isdisjoint(later.inputs):
            return True
        if later.code in SHAPES and later.inputs[0] in same:
            same.update(later.outputs)
    return changed and not same.isdisjoint(model.outputs)
