"""A monitor beside your own PyTorch loop: `watch` hooks into a module and gives steps while you call it.

Importing this module imports no PyTorch; `watch` does.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .base.checks import integer
from .base.errors import InputError, InputTypeError, located
from .log.log import Log
from .monitor.monitor import Monitor
from .monitor.params import Params
from .monitor.steps import STEP_DTYPE, Steps
from .recording.model import Features, Model
from .recording.session import posteriors, refuse_model
from .recording.torch import Tap, array_of, is_module

__all__ = ["Watch", "watch"]


def watch(
    model: Any,
    params: Params | Monitor | str | Path | None = None,
    *,
    logits: bool = False,
    features: Features = None,
    output: str | int | None = None,
    keep: int | None = None,
) -> Watch:
    """Watch a PyTorch module while your own code calls it.

    Each call of the module adds one step per row of its output, in order. Outputs, gradients, dtype, device
    and mode of the module stay as they are. An output that cannot be read raises in your call.

    Parameters
    ----------
    model : torch.nn.Module
        The network; it is called by your own code, as before.
    params : Params, Monitor or path, optional
        The monitor that decides. Without it, outputs are collected for a fit: see `Watch.log`.
    logits : bool, default False
        The module has no softmax: apply one, beside its outputs.
    features : str or False, optional
        Name of the submodule whose output is the features; by default the input of the last linear layer
        that runs. False leaves them out. Where `params` use no features, none are taken.
    output : str or int, optional
        Which of several outputs has the posteriors: its place in a tuple, or its key or attribute.
    keep : int, optional
        Steps that `Watch.steps` keeps, the last ones; all by default, 72 bytes each.

    Returns
    -------
    Watch
        Watching at once. Use it in a ``with`` statement, or call `Watch.close` at the end.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> from tcuq import Params  # doctest: +SKIP
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(1))  # doctest: +SKIP
    >>> with watch(model, Params(classes=3)) as watched:  # doctest: +SKIP
    ...     outputs = model(torch.zeros(5, 4))
    >>> len(watched.steps), watched.last["alarm"].tolist()  # doctest: +SKIP
    (5, [0, 0, 0, 0, 0])
    """
    return Watch(model, params, logits, features, output, keep)


class Watch:
    """A module that is being watched; made by `watch`, with its parameters.

    Attributes
    ----------
    notes : list of str
        Remarks, such as features that were left out.
    monitor : Monitor or None
        The monitor that decides; None while outputs are collected for a fit.
    """

    def __init__(
        self,
        model: Any,
        params: Params | Monitor | str | Path | None,
        logits: bool,
        features: Features,
        output: str | int | None,
        keep: int | None,
    ) -> None:
        if not is_module(model):
            kind = type(model).__name__
            raise InputTypeError("value", f"the model is of type {kind}, expected a torch.nn.Module")
        if isinstance(params, (str, Path)):
            params = Params.load(params)
        if keep is not None:
            integer("keep", keep, 1, sys.maxsize)
            if params is None:
                problem = "keep is for steps, and there are none without params; leave it out"
                raise InputError("conflict", problem)
        self.monitor = params if params is None or isinstance(params, Monitor) else Monitor(params)
        self._torch = import_module("torch")
        used = self.monitor is None or self.monitor.params.features > 0
        self._known = Model(type(model).__name__, features if used else False)
        self._error = self._known.refusal
        self.notes = self._known.notes
        self._logits, self._output, self._keep = logits, output, keep
        self._tap = Tap(model, self._known)
        self._kept: deque[Any] = deque()
        self._last: Steps | None = None
        self._count = 0
        self._features: list[Any] = []
        self._segment = 0
        self._segments: list[int] = []
        self._tap.start()
        self._hook = model.register_forward_hook(self._after)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching; steps and log stay."""
        self._hook.remove()
        self._tap.stop()

    def reset(self) -> None:
        """Begin a new segment after a gap in the stream: past outputs are forgotten, rates and alarm not."""
        self._segment += 1
        if self.monitor is not None:
            self.monitor.reset()

    @property
    def last(self) -> Steps:
        """Steps of the last call of the module, one a row."""
        monitor = self._need_monitor()
        return Steps.of(np.empty(0, STEP_DTYPE), monitor.params.names) if self._last is None else self._last

    @property
    def steps(self) -> Steps:
        """All steps so far, or the last ones where `keep` says so."""
        monitor = self._need_monitor()
        whole = np.concatenate(self._kept) if self._kept else np.empty(0, STEP_DTYPE)
        return Steps.of(whole if self._keep is None else whole[-self._keep :], monitor.params.names)

    def log(
        self,
        labels: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        shifted: npt.ArrayLike | None = None,
    ) -> Log:
        """Return what was collected without params, for `tcuq.fit`.

        Parameters
        ----------
        labels : array, optional
            True classes, one for each row that the module has put out since it is watched.
        names : sequence of str, optional
            Names of the classes.
        shifted : array, optional
            Where the input was degraded, one value for each row, as of `Log`; it teaches the alarm.
        """
        if self.monitor is not None:
            problem = "outputs are collected without params only; call watch(model) for a log"
            raise InputError("conflict", problem)
        if not self._kept:
            raise self._error("missing", "has not run since it is watched, expected at least one call")
        rows = [0, *map(len, self._features)]
        features = np.concatenate(self._features) if sum(rows) == sum(map(len, self._kept)) else None
        segments = np.repeat(self._segments, [len(each) for each in self._kept])
        more: Any = {"labels": labels, "segments": segments, "shifted": shifted, "names": names}
        return Log(np.concatenate(self._kept), features, notes=tuple(self.notes), **more)

    def _need_monitor(self) -> Monitor:
        if self.monitor is None:
            raise InputError("missing", "there are no steps without params; pass them, or take the log")
        return self.monitor

    def _after(self, _: Any, __: Any, output: Any) -> None:
        # Returns None, so that the module's output goes on as it is.
        with self._torch.no_grad():
            self._take(self._chosen(output))

    def _chosen(self, output: Any) -> Any:
        """Return the tensor with the posteriors."""
        tensor, kind = self._torch.Tensor, type(output).__name__
        if self._output is None:
            if isinstance(output, tensor):
                return output
            if isinstance(output, (tuple, list)):
                names = ", ".join(map(str, range(len(output))))
            else:
                names = ", ".join(map(str, output)) if isinstance(output, dict) else "an attribute"
            how = f"name the one with the posteriors with `output`: {names}"
            raise self._error("missing", f"returns {kind}, expected a tensor; {how}")
        try:
            named = isinstance(self._output, str) and not isinstance(output, dict)
            chosen = getattr(output, str(self._output)) if named else output[self._output]
        except (LookupError, AttributeError, TypeError):
            raise self._error("unknown", f"returns {kind} without {self._output!r}") from None
        if not isinstance(chosen, tensor):
            got = type(chosen).__name__
            raise self._error("value", f"output {self._output!r} is {got}, expected a tensor")
        return chosen

    def _rows(self, raw: Any) -> Any:
        """Return outputs as one row an input; a vector is one input, or one sigmoid an input."""
        if raw.ndim < 2:
            classes = None if self.monitor is None else self.monitor.params.classes
            seen = self._tap.dimensions
            whole = abs(float(raw.sum()) - 1) < 0.02 and raw.size > 1
            alone = raw.ndim == 0 or seen == 1 or (seen is None and (whole or raw.size == classes != 2))
            return raw.reshape(1 if alone else len(raw), -1)
        if raw.size != raw.shape[0] * raw.shape[1]:
            raise self._error("value", f"its output has shape {raw.shape}, expected (inputs, classes)")
        return raw.reshape(len(raw), -1)

    def _take(self, output: Any) -> None:
        """Add the rows of one call."""
        self._last = None
        raw = array_of(output)
        if not raw.size:
            return
        rows = self._rows(raw)
        count = len(rows)
        features = self._tap.take(count)
        with located(self._known.name):
            probs = posteriors(rows, None, self._logits)
        if not self._kept:  # later rows are judged one by one, by the core or by the fit
            refuse_model(probs, self._known.name)
        if self.monitor is None:
            self._kept.append(np.array(probs, np.float32))
            self._segments.append(self._segment)
            self._features += [] if features is None else [features]
            return
        if features is None and self.monitor.params.features:
            why = self.notes[-1] if self.notes else "name a module with `features`"
            raise self._error("value", f"the monitor reads {self.monitor.params.features} features; {why}")
        with located(self._known.name):
            self._last = self.monitor.run(probs, features)
        self._kept.append(self._last)
        self._count += count
        while self._keep is not None and self._count - len(self._kept[0]) >= self._keep:
            self._count -= len(self._kept.popleft())
