"""A monitor beside your own PyTorch loop: `watch` hooks into a module and gives steps while you call it.

Importing this module imports no PyTorch; `watch` does.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .base.checks import integer
from .base.errors import InputError, InputTypeError, located, wrong_value
from .log.log import Log
from .monitor.monitor import Monitor, blind_notes
from .monitor.params import Params
from .monitor.steps import STEP_DTYPE, Steps
from .recording.model import Features, Model, Range, checked_range
from .recording.ranges import gauges_of, quantized, range_of, shown_range, whole_format
from .recording.session import posteriors, refuse_model
from .recording.torch import Tap, array_of, copied, is_module

__all__ = ["Watch", "watch"]


def watch(
    model: Any,
    params: Params | Monitor | str | Path | None = None,
    *,
    logits: bool = False,
    features: Features = None,
    output: str | int | None = None,
    keep: int | None = None,
    gauges: bool | Callable[..., npt.ArrayLike] = True,
    gauge_names: Sequence[str] | None = None,
    input_range: Range | None = None,
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
        Steps that `Watch.steps` keeps, the last ones; all by default, 80 bytes each.
    gauges : bool or function, default True
        Gauges of the module's first argument (`input_gauges`), where it is a picture, a signal or a row of a
        table; False takes none. A function is called as the module was, and returns a row of numbers an
        input. Where `params` have no `sight`, none are taken.
    gauge_names : sequence of str, optional
        Names of the numbers that a function of yours returns.
    input_range : (float, float), optional
        The lowest and the highest value that inputs may have: what int8 inputs of a device stand for. By
        default the usual range that the first call fits in, such as 0 to 1; inputs that are standardized have
        none. Pass the same range for the fit and for the monitor.

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
    seen = _Gauges(gauges, gauge_names, input_range)
    return Watch(model, params, logits, features, output, keep, seen)


class _Gauges:
    """Takes gauges of what a module is given; where that cannot go on, a note says why."""

    def __init__(
        self,
        asked: bool | Callable[..., npt.ArrayLike],
        names: Sequence[str] | None,
        ends: Range | None,
    ) -> None:
        if not callable(asked) and not isinstance(asked, bool):
            raise wrong_value("gauges", asked, "True, False or a function")
        if not callable(asked) and names is not None:
            raise InputError("conflict", "gauge_names are for a function of yours; pass it as gauges")
        self._asked, self._ends = asked, None if ends is None else checked_range(ends)
        self.names = None if names is None else tuple(names)
        self._width: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether some are taken."""
        return self._asked is not False

    def stop(self) -> None:
        """Take none from now on."""
        self._asked = False

    def of(self, given: Any, count: int, notes: list[str]) -> Any:
        """Return a row of gauges for each of so many inputs; None for good once there are none."""
        if not self.wanted:
            return None
        found = self._of_function(given) if callable(self._asked) else self._of_input(given, count)
        why = found if isinstance(found, str) else self._misfit(found.shape, count)
        if why is not None:
            notes.append(f"gauges are left out: {why}")
            self.stop()
            return None
        return found

    def _misfit(self, shape: tuple[int, int], count: int) -> str | None:
        """Return why rows of gauges cannot be taken, None where they can."""
        rows, width = shape
        before, self._width = self._width, width
        if rows != count:
            return f"{rows} rows for {count} outputs"
        if before not in (None, width):
            return f"{width} numbers an input, and {before} before"
        if self.names is not None and width != len(self.names):
            return f"{width} numbers an input for {len(self.names)} gauge_names"
        return None

    def _of_function(self, given: Any) -> Any:
        assert callable(self._asked)
        found = self._asked(*given)
        rows = array_of(found) if hasattr(found, "detach") else np.asarray(found, np.float32)
        return rows if rows.ndim == 2 else f"the function gives an array of shape {rows.shape}"

    def _of_input(self, given: Any, count: int) -> Any:
        """Return gauges of the first argument, or why there are none."""
        x = given[0] if given else None
        kind = str(getattr(x, "dtype", "")).removeprefix("torch.")
        if (
            x is None
            or not hasattr(x, "detach")
            or not (kind.startswith(("float", "bfloat")) or kind in ("int8", "uint8"))
        ):
            return "the module's first argument is no tensor of numbers, " + _BETTER
        values = x.detach().cpu().numpy() if kind in ("int8", "uint8") else array_of(x)
        values = values[None] if values.ndim and count == 1 and len(values) != 1 else values
        if values.ndim < 2 or not values.size:
            return f"the module's first argument has shape {tuple(x.shape)}, " + _BETTER
        if values.dtype == np.float32:
            self._ends = self._ends or range_of(values)
            if self._ends is None:
                own = shown_range((values.min(), values.max()))
                return f"inputs are {own}, which is no usual range; pass input_range"
        whole = values
        if values.dtype == np.float32 and self._ends is not None:
            whole = quantized(values, whole_format(self._ends), np.int8)[0]
        found = gauges_of(values, whole)
        if found is None:
            return f"inputs have shape {values.shape[1:]}, " + _BETTER
        self.names = found[1]
        return found[0]


_BETTER = "pass a function of yours as gauges"


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
        gauges: _Gauges,
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
        sight = None if self.monitor is None else self.monitor.params.sight
        if self.monitor is not None and (sight is None or not sight.gauges):
            gauges.stop()
        self._gauges, self._seen = gauges, list[Any]()
        self._segment = 0
        self._segments: list[int] = []
        self._tap.start()
        self._hooks = [model.register_forward_hook(self._after)]
        self._given: Any = ()
        if gauges.wanted:  # before the call: a layer that works in place changes the input
            self._hooks.append(model.register_forward_pre_hook(self._before))

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching; steps and log stay."""
        for hook in self._hooks:
            hook.remove()
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
        return (
            Steps.of(np.empty(0, STEP_DTYPE), monitor.params.names, monitor.params.sight)
            if self._last is None
            else self._last
        )

    @property
    def steps(self) -> Steps:
        """All steps so far, or the last ones where `keep` says so."""
        monitor = self._need_monitor()
        whole = np.concatenate(self._kept) if self._kept else np.empty(0, STEP_DTYPE)
        return Steps.of(
            whole if self._keep is None else whole[-self._keep :], monitor.params.names, monitor.params.sight
        )

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
        if sum(map(len, self._seen)) == sum(map(len, self._kept)):
            more |= {"gauges": np.concatenate(self._seen), "gauge_names": self._gauges.names}
        return Log(np.concatenate(self._kept), features, notes=tuple(self.notes), **more)

    def _known_gauges(self, gauges: Any) -> Any:
        """Return the gauges that the monitor was fitted to; note it once where they are not there."""
        params = self._need_monitor().params
        if params.sight is None or not params.sight.gauges:
            return None
        names = None if gauges is None else self._gauges.names
        own = None if gauges is None else params.sight.own(gauges, names)
        if own is None and (lacking := blind_notes(names or (), params)) and lacking[0] not in self.notes:
            self.notes += lacking
        return own

    def _need_monitor(self) -> Monitor:
        if self.monitor is None:
            raise InputError("missing", "there are no steps without params; pass them, or take the log")
        return self.monitor

    def _before(self, _: Any, given: Any) -> None:
        self._given = tuple(map(copied, given)) if self._gauges.wanted else ()

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
        gauges = self._gauges.of(self._given, count, self.notes)
        with located(self._known.name):
            probs = posteriors(rows, None, self._logits)
        if not self._kept:  # later rows are judged one by one, by the core or by the fit
            refuse_model(probs, self._known.name)
        if self.monitor is None:
            self._kept.append(np.array(probs, np.float32))
            self._segments.append(self._segment)
            self._features += [] if features is None else [features]
            self._seen += [] if gauges is None else [gauges]
            return
        if features is None and self.monitor.params.features:
            why = self.notes[-1] if self.notes else "name a module with `features`"
            raise self._error("value", f"the monitor reads {self.monitor.params.features} features; {why}")
        with located(self._known.name):
            self._last = self.monitor.run(probs, features, gauges=self._known_gauges(gauges))
        self._kept.append(self._last)
        self._count += count
        while self._keep is not None and self._count - len(self._kept[0]) >= self._keep:
            self._count -= len(self._kept.popleft())
