"""PyTorch modules: posteriors from their output, features from what the last linear layer reads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..base.spelling import option
from .model import Array, Features, Model, Outputs


def is_module(model: Any) -> bool:
    """Tell whether an object is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.") for kind in type(model).__mro__)


WRAPPERS = ("", "module.", "_orig_mod.")
"""What names of submodules begin with in a plain module, in `DataParallel`, and in a compiled one."""


class Tap:
    """Takes the features of a module while it runs, and changes nothing of it."""

    def __init__(self, model: Any, known: Model) -> None:
        self._known, self._name, self._seen = known, "", None
        self._hooks: list[Any] = []
        self._compiled = hasattr(model, "_orig_mod")
        parts = dict(model.named_modules())
        if known.asked is not None:
            chosen = [name for start in WRAPPERS if (name := f"{start}{known.asked}") in parts]
            if not chosen:
                last = ", ".join(list(parts)[-5:])
                raise known.refusal("unknown", f"has no module {known.asked!r}; the last ones are {last}")
            parts = {chosen[0]: parts[chosen[0]]}
        elif known.wanted:
            linear = import_module("torch").nn.Linear
            parts = {name: part for name, part in parts.items() if isinstance(part, linear)}
        self._parts = parts if known.wanted else {}

    def start(self) -> None:
        """Watch the module from now on."""
        self._seen = None
        self._hooks = [self._watch(name, part) for name, part in self._parts.items()]

    def stop(self) -> None:
        """Leave the module as it was."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _watch(self, name: str, part: Any) -> Any:
        def before(_: Any, given: Any) -> None:
            if given:
                self._seen, self._name = copied(given[0]), f"input of {name or 'the linear layer'}"

        def after(_: Any, __: Any, output: Any) -> None:
            self._seen, self._name = copied(output), name

        asked = self._known.asked is not None
        return part.register_forward_hook(after) if asked else part.register_forward_pre_hook(before)

    @property
    def dimensions(self) -> int | None:
        """Dimensions of what was seen in the batch that has just run; None where nothing was."""
        return getattr(self._seen, "ndim", None)

    def take(self, count: int) -> Array | None:
        """Return the features of the batch that has just run, and forget them."""
        seen, self._seen = self._seen, None
        if not self._known.wanted:
            return None
        why = None
        if seen is None:
            why = "no linear layer ran"
            if self._compiled:
                why += " where it could be seen; begin before the first call of a compiled module"
        elif not hasattr(seen, "detach"):
            why = f"{self._name} is {type(seen).__name__}, expected a tensor"
        elif len(seen if seen.ndim > 1 or count > 1 else seen[None]) != count:
            why = f"{self._name} has shape {tuple(seen.shape)} for {count} outputs"
        if why is not None:
            self._known.without_features(f"{why}; name a module with {option('features')}")
        else:
            rows = array_of(seen).reshape(count, -1)
            if not self._known.too_wide(self._name, rows.shape[1]):
                return rows
        self._known.wanted, self._parts = False, {}
        self.stop()
        return None


class Torch(Model):
    """A PyTorch module, run on the device where it is."""

    def __init__(self, model: Any, features: Features) -> None:
        super().__init__(type(model).__name__, features)
        self._torch = import_module("torch")
        self._model = model
        self._tap = Tap(model, self)
        weight = next(iter(model.parameters()), None)
        self._where = None if weight is None else weight.device
        if weight is not None and weight.dtype == self._torch.float64:
            self.input = np.dtype(np.float64)

    def __call__(self, x: Array) -> Outputs:
        """Run a batch in evaluation mode, without gradients; the module is left as it was."""
        modes = [(part, part.training) for part in self._model.modules()]  # parts may differ
        self._tap.start()
        try:
            self._model.eval()
            with self._torch.no_grad():
                given = self._torch.from_numpy(np.ascontiguousarray(x))
                outputs = self._model(given if self._where is None else given.to(self._where))
        except (RuntimeError, ValueError, TypeError) as error:
            raise self.cannot_run(x, error) from None
        finally:
            self._tap.stop()
            for part, training in modes:
                part.training = training
        if not isinstance(outputs, self._torch.Tensor):
            raise self.refusal("value", f"returns {type(outputs).__name__}, expected one tensor")
        return Outputs(array_of(outputs).reshape(len(x), -1), self._tap.take(len(x)))


def copied(value: Any) -> Any:
    """Return a tensor that later layers, which may work in place, do not change."""
    return value.detach().clone() if hasattr(value, "detach") else value


def array_of(tensor: Any) -> Array:
    """Return a copy of a tensor of any device and kind of float as float32: its memory may be used again."""
    return np.array(tensor.detach().cpu().float().numpy())
