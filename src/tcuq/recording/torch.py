"""PyTorch modules: posteriors from their output, features from what the last linear layer reads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .model import Array, Features, Info, Outputs, too_wide


def is_module(model: Any) -> bool:
    """Tell whether an object is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.") for kind in type(model).__mro__)


WRAPPERS = ("", "module.", "_orig_mod.")
"""What names of submodules begin with in a plain module, in `DataParallel`, and in a compiled one."""


class Tap:
    """Takes the features of a module while it runs, and changes nothing of it."""

    def __init__(self, model: Any, features: Features, info: Info) -> None:
        self._info = info
        self._asked = features not in (None, True, False)
        self._wanted, self._name, self._seen = features is not False, "", None
        self._hooks: list[Any] = []
        self._compiled = hasattr(model, "_orig_mod")
        parts = dict(model.named_modules())
        if self._asked:
            chosen = [name for start in WRAPPERS if (name := f"{start}{features}") in parts]
            if not chosen:
                last = ", ".join(list(parts)[-5:])
                raise info.refusal("unknown", f"has no module {features!r}; the last ones are {last}")
            parts = {chosen[0]: parts[chosen[0]]}
        elif self._wanted:
            linear = import_module("torch").nn.Linear
            parts = {name: part for name, part in parts.items() if isinstance(part, linear)}
        self._parts = parts if self._wanted else {}

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
                self._seen, self._name = _copied(given[0]), f"input of {name or 'the linear layer'}"

        def after(_: Any, __: Any, output: Any) -> None:
            self._seen, self._name = _copied(output), name

        return part.register_forward_hook(after) if self._asked else part.register_forward_pre_hook(before)

    @property
    def dimensions(self) -> int | None:
        """Dimensions of what was seen in the batch that has just run; None where nothing was."""
        return getattr(self._seen, "ndim", None)

    def take(self, count: int) -> Array | None:
        """Return the features of the batch that has just run, and forget them."""
        seen, self._seen = self._seen, None
        if not self._wanted:
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
        if why is not None or seen is None:
            self._leave_out(f"{why}; name a module with `features`")
            return None
        rows = array_of(seen).reshape(count, -1)
        if too_wide(self._info, self._name, rows.shape[1], self._asked):
            self._drop()
            return None
        return rows

    def _leave_out(self, why: str) -> None:
        if self._asked:
            raise self._info.refusal("value", why)
        self._info.without_features(why)
        self._drop()

    def _drop(self) -> None:
        self._wanted, self._parts = False, {}
        self.stop()


class Torch:
    """A PyTorch module, ready to run on the device where it is."""

    def __init__(self, model: Any, features: Features) -> None:
        self._torch = import_module("torch")
        self._model = model
        self.info = Info(type(model).__name__)
        self._tap = Tap(model, features, self.info)
        weight = next(iter(model.parameters()), None)
        self._where = None if weight is None else weight.device
        if weight is not None and weight.dtype == self._torch.float64:
            self.info.input = np.dtype(np.float64)

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
            raise self.info.cannot_run(x, error) from None
        finally:
            self._tap.stop()
            for part, training in modes:
                part.training = training
        if not isinstance(outputs, self._torch.Tensor):
            raise self.info.refusal("value", f"returns {type(outputs).__name__}, expected one tensor")
        return Outputs(array_of(outputs).reshape(len(x), -1), self._tap.take(len(x)))


def _copied(value: Any) -> Any:
    """Return a tensor that later layers, which may work in place, do not change."""
    return value.detach().clone() if hasattr(value, "detach") else value


def array_of(tensor: Any) -> Array:
    """Return a copy of a tensor of any device and kind of float as float32: its memory may be used again."""
    return np.array(tensor.detach().cpu().float().numpy())
