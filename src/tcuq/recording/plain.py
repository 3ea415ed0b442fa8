"""Anything with `predict_proba`, and any function that returns posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import InputError
from .model import WIDEST, Array, Features, Info, Outputs, first_line


class Plain:
    """An object with ``predict_proba``, or a function."""

    def __init__(self, model: Any, features: Features) -> None:
        self._call = getattr(model, "predict_proba", None) or model
        self.info = Info(getattr(model, "__name__", None) or type(model).__name__, input=None)
        classes = getattr(model, "classes_", None)
        self.info.classes = None if classes is None else list(np.asarray(classes).tolist())
        self._wanted = features is not False
        if features not in (None, True, False):
            raise InputError(
                "unsupported",
                f"{self.info.name}: is a function, in which {features!r} cannot be looked up; "
                "let it return (posteriors, features)",
            )

    def __call__(self, x: Array) -> Outputs:
        """Run a batch."""
        try:
            found = self._call(x)
        except Exception as error:  # of the user's own code
            raise InputError(
                "failed",
                f"{self.info.name}: failed on input of shape {x.shape[1:]}: {type(error).__name__}: "
                f"{first_line(error)}",
            ) from error
        pair = isinstance(found, tuple) and len(found) == 2
        probs, features = found if pair else (found, None)
        probs = self._rows("posteriors", probs, len(x))
        if features is None or not self._wanted:
            return Outputs(probs)
        features = self._rows("features", features, len(x))
        if features.shape[1] > WIDEST:
            raise InputError(
                "limit",
                f"{self.info.name}: returns {features.shape[1]:,} features, a log takes at most {WIDEST}",
            )
        return Outputs(probs, features)

    def _rows(self, what: str, values: Any, count: int) -> Array:
        try:
            rows = np.asarray(values)
        except (ValueError, TypeError):
            raise InputError("value", f"{self.info.name}: {what} are no table of numbers") from None
        if rows.dtype.kind not in "iuf":
            raise InputError("value", f"{self.info.name}: {what} are {rows.dtype}, expected numbers")
        if rows.ndim == 0 or len(rows) != count:
            raise InputError(
                "value",
                f"{self.info.name}: {what} have shape {rows.shape} for {count} inputs, expected one row each",
            )
        return rows.reshape(count, -1)
