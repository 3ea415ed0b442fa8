"""PyTorch modules: posteriors from their output, features from what the last linear layer reads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .model import Array, Features, Info, Outputs, first_line, too_wide


def is_module(model: Any) -> bool:
    """Tell whether an object is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.") for kind in type(model).__mro__)


class Torch:
    """A PyTorch module, ready to run on the device where it is.

    Parameters
    ----------
    model : torch.nn.Module
    features : str, int, bool or None
        Name of a submodule, whose output is taken; None takes the input of the last linear layer that runs.
    """

    def __init__(self, model: Any, features: Features) -> None:
        self._torch = import_module("torch")
        self._model = model
        self.info = Info(type(model).__name__)
        self._asked = features not in (None, True, False)
        self._wanted, self._name, self._seen = features is not False, "", None
        parts = dict(model.named_modules())
        if self._asked:
            if features not in parts:
                last = ", ".join(list(parts)[-5:])
                raise ValueError(f"{self.info.name}: has no module {features!r}; the last ones are {last}")
            parts = {str(features): parts[str(features)]}
        elif self._wanted:
            linear = self._torch.nn.Linear
            parts = {name: part for name, part in parts.items() if isinstance(part, linear)}
        self._parts = parts if self._wanted else {}
        weight = next(iter(model.parameters()), None)
        self._where = None if weight is None else weight.device
        if weight is not None and weight.dtype == self._torch.float64:
            self.info.input = np.dtype(np.float64)

    def __call__(self, x: Array) -> Outputs:
        """Run a batch in evaluation mode, without gradients; the module is left as it was."""
        training = self._model.training
        self._seen = None
        hooks = [self._watch(name, part) for name, part in self._parts.items()]
        try:
            self._model.eval()
            with self._torch.no_grad():
                given = self._torch.from_numpy(np.ascontiguousarray(x))
                found = self._model(given if self._where is None else given.to(self._where))
        except (RuntimeError, ValueError, TypeError) as error:
            raise ValueError(
                f"{self.info.name}: cannot run on input of shape {x.shape[1:]}: {first_line(error)}"
            ) from None
        finally:
            for hook in hooks:
                hook.remove()
            self._model.train(training)
        if not isinstance(found, self._torch.Tensor):
            raise ValueError(
                f"{self.info.name}: returns {type(found).__name__}, expected a tensor of posteriors"
            )
        return Outputs(_array(found).reshape(len(x), -1), self._features(len(x)))

    def _watch(self, name: str, part: Any) -> Any:
        def before(_: Any, given: Any) -> None:
            self._seen, self._name = given[0], f"input of {name or 'the linear layer'}"

        def after(_: Any, __: Any, output: Any) -> None:
            self._seen, self._name = output, name

        return part.register_forward_hook(after) if self._asked else part.register_forward_pre_hook(before)

    def _features(self, count: int) -> Array | None:
        if not self._wanted:
            return None
        if self._seen is None:
            self.info.notes.append(
                "features are left out: no linear layer ran; name a module with `features`"
            )
            self._wanted = False
            return None
        rows = _array(self._seen).reshape(count, -1)
        if too_wide(self.info, self._name, rows.shape[1], self._asked):
            self._wanted, self._parts = False, {}
            return None
        return rows


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().float().numpy())
