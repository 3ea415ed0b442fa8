"""Build a graph from a TFLite model, tensor by tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

from ..graph import model as own
from ..graph import steps
from .model import Model, Operator, Tensor


class GraphBuilder:
    """The graph so far; `names` are its tensors by the numbers of the model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tensors: dict[str, own.Tensor] = {}
        self.steps: list[steps.Step] = []
        self.names: dict[int, str] = {}
        number = model.inputs[0]
        shape = model.tensors[number].shape
        if not 2 <= len(shape) <= 4 or shape[0] != 1:
            raise InputError(
                "unsupported",
                f"input, tensor {number} {model.tensors[number].title}: shape is {shape}, expected two to "
                "four dimensions, the first of them 1: convert the model for a batch of one",
            )
        for each in (number, *model.states):
            self.add(each)

    def add(self, number: int, shape: tuple[int, ...] | None = None) -> str:
        """Add a tensor of the model, and return its name."""
        tensor = self.model.tensors[number]
        name = f"t{number}"
        self.names[number] = name
        self.tensors[name] = own.Tensor(name, shape or shape_of(tensor), float(tensor.scale), tensor.zero)
        return name

    def extra(self, shape: tuple[int, ...], scale: float, zero: int) -> str:
        """Add a tensor that the model does not have, and return its name."""
        name = f"made{len(self.tensors)}"
        self.tensors[name] = own.Tensor(name, shape, scale, zero)
        return name

    def like(self, name: str, shape: tuple[int, ...]) -> str:
        """Add a tensor with the scale and zero of another, and return its name."""
        return self.extra(shape, self.tensors[name].scale, self.tensors[name].zero)

    def reshaped(self, name: str, shape: tuple[int, ...]) -> str:
        """Return a tensor in another shape: itself, or a view of it."""
        if self.tensors[name].shape == shape:
            return name
        made = self.like(name, shape)
        self.steps.append(steps.View(name, made))
        return made

    def vector(self, name: str) -> str:
        """Return a tensor as a vector."""
        return self.reshaped(name, (self.tensors[name].size,))

    def name(self, number: int) -> str:
        """Return a tensor that is there: the input, what was computed, or a constant."""
        if number not in self.names:
            tensor = self.model.tensors[number]
            assert tensor.data is not None
            name = self.add(number)
            values = np.ascontiguousarray(tensor.data, dtype=np.int8).reshape(self.tensors[name].shape)
            self.steps.append(steps.Constant(name, values))
        return self.names[number]

    def source(self, operator: Operator, at: int = 0) -> tuple[str, Tensor]:
        """Return an input of an operator: its name in the graph, and the tensor of the model."""
        number = operator.inputs[at]
        return self.name(number), self.model.tensors[number]

    def constant(self, operator: Operator, at: int) -> npt.NDArray[Any]:
        """Return an input of an operator that is a constant."""
        data = self.model.tensors[operator.inputs[at]].data
        assert data is not None
        return data

    def target(self, operator: Operator) -> Tensor:
        """Return the tensor of the model that an operator makes."""
        return self.model.tensors[operator.outputs[0]]


def leading(tensor: Tensor) -> int:
    """Return how many dimensions a tensor of the graph lacks: 1 for that of a batch of one, else 0."""
    return int(len(tensor.shape) > 1 and tensor.shape[0] == 1)


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """Return a shape without the batch of one, in three dimensions at most: the first ones become one."""
    shape = tensor.shape[leading(tensor) :] or (1,)
    return shape if len(shape) <= 3 else (math.prod(shape[:-2]), *shape[-2:])
