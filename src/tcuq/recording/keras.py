"""Keras models: posteriors from their output, features from what the last dense layer reads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import InputError
from .model import Array, Features, Info, Outputs, first_line, too_wide


def is_keras(model: Any) -> bool:
    """Tell whether an object is a Keras model or looks like one: it has layers and predicts."""
    return hasattr(model, "layers") and callable(getattr(model, "predict", None))


class Keras:
    """A Keras model, ready to run."""

    def __init__(self, model: Any, features: Features) -> None:
        name = getattr(model, "name", None)
        self.info = Info(name if isinstance(name, str) else type(model).__name__)
        shape = getattr(model, "input_shape", None)
        if isinstance(shape, tuple) and len(shape) > 1:
            self.info.shape = shape[1:]
        self._asked = features not in (None, True, False)
        self._model, self._two = model, False
        if features is not False:
            self._add_features(model, features)

    def _add_features(self, model: Any, chosen: Features) -> None:
        layers = {layer.name: layer for layer in model.layers}
        if self._asked and chosen not in layers:
            last = ", ".join(list(layers)[-5:])
            raise InputError(
                "unknown", f"{self.info.name}: has no layer {chosen!r}; the last ones are {last}"
            )
        dense = [layer for layer in layers.values() if type(layer).__name__ == "Dense"]
        if not self._asked and not dense:
            self.info.notes.append(
                "features are left out: the model has no dense layer; name a layer with `features`"
            )
            return
        tensor = layers[str(chosen)].output if self._asked else dense[-1].input
        name = str(chosen) if self._asked else f"input of {dense[-1].name}"
        width = int(np.prod([each or 0 for each in tensor.shape[1:]]))
        if too_wide(self.info, name, width, self._asked):
            return
        # The package that the model is of: Keras has been published under several names.
        package = import_module(type(model).__module__.partition(".")[0])
        made = getattr(package, "Model", None) or package.keras.Model
        self._model, self._two = made(model.inputs, [model.outputs[0], tensor]), True

    def __call__(self, x: Array) -> Outputs:
        """Run a batch."""
        try:
            found = self._model.predict(x, verbose=0, batch_size=len(x))
        except (ValueError, TypeError) as error:
            raise InputError(
                "failed", f"{self.info.name}: cannot run on input of shape {x.shape[1:]}: {first_line(error)}"
            ) from None
        probs, features = found if self._two else (found, None)
        rows = None if features is None else np.asarray(features).reshape(len(x), -1)
        return Outputs(np.asarray(probs).reshape(len(x), -1), rows)
