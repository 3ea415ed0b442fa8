"""From what a user calls a model to one that is ready to run."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, located, wrong_type
from ..base.spelling import option
from .model import WIDEST, Array, Features, Model, Outputs, first_line, users_code

READ = (".tflite", ".onnx", ".keras")
ENDINGS = ".tflite, .onnx or .keras"

CODE = {".pt": "PyTorch", ".pth": "PyTorch", ".joblib": "joblib", ".pkl": "pickle", ".pickle": "pickle"}
"""Files that can run any code when they are opened: the user loads them."""


def open_model(model: Any, features: Features, posteriors: str | None, fast: bool) -> Model:
    """Return a model that is ready to run."""
    if isinstance(model, (str, Path)):
        path = Path(model)
        if not path.exists() and is_reference(str(model)):
            model = referred(str(model), "MODEL")
        else:
            kind = path.suffix.lower()
            with located(str(path)):
                _refuse_path(path, kind)
            return _from_file(path, kind, features, posteriors, fast)
    return _from_object(model, features)


def _refuse_path(path: Path, kind: str) -> None:
    """Refuse what is no model that can be read, and say what to pass in its place."""
    if kind in CODE:
        way = "load the model in a Python file, such as net = ... in my_model.py, and pass my_model:net"
        raise InputError("unsupported", f"is a {CODE[kind]} file, expected module:name; {way}")
    if kind == ".h5":
        way = "save it with model.save('x.keras')"
        raise InputError("unsupported", f"is an old Keras file, expected .keras; {way}")
    if path.is_dir():
        raise InputError("value", f"is a folder, expected a model ({ENDINGS}) or module:name")
    if not path.exists() and kind in ("", *READ):
        raise InputError("missing", "No such file or directory")
    if kind == ".py":
        raise InputError("value", f"is a Python file; pass {path.stem}:NAME of a model in it")
    if kind not in READ:
        raise InputError("unknown", f"extension {kind!r} is unknown, expected {ENDINGS}, or module:name")


def _from_file(path: Path, kind: str, features: Features, posteriors: str | None, fast: bool) -> Model:
    if kind == ".tflite":
        from .tflite import TFLite

        return TFLite(path, features, posteriors, fast)
    if kind == ".onnx":
        from .onnx import ONNX

        return ONNX(path, features, posteriors)
    models = _keras().models
    try:
        loaded = models.load_model(path, compile=False)
    except (ValueError, OSError, TypeError, KeyError) as error:
        problem = f"is not a Keras model, or is truncated: {first_line(error)}"
        raise InputError("damaged", problem, where=path.name) from None
    return Keras(loaded, features)


def _keras() -> Any:
    """Import Keras; it fails as an ImportError, too, where the package is there and its backend is not."""
    try:
        return import_module("keras")
    except ImportError as error:
        missing = str(getattr(error, "name", "") or "").partition(".")[0]
        problem = "a .keras model needs Keras and a backend; install them with: pip install keras tensorflow"
        if missing not in ("", "keras"):
            other = "choose one that is with the environment variable KERAS_BACKEND: tensorflow, jax or torch"
            problem = f"a .keras model needs a backend of Keras, and {missing} is not installed"
            problem = f"{problem}: pip install {missing}, or {other}"
        raise InputError("needs", problem) from None


def _from_object(model: Any, features: Features) -> Model:
    from .torch import Torch, is_module

    if is_module(model):
        return Torch(model, features)
    if hasattr(model, "layers") and callable(getattr(model, "predict", None)):  # or what looks like Keras
        return Keras(model, features)
    if callable(getattr(model, "predict_proba", None)) or callable(model):
        return Plain(model, features)
    expected = "a path, a PyTorch or Keras model, an object with predict_proba, or a function"
    raise wrong_type("the model", model, expected)


def is_reference(text: str) -> bool:
    r"""Tell whether a text is ``module:name`` and not a path."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text) is not None


def referred(text: str, what: str) -> Any:
    """Import what ``module:name`` stands for."""
    module, _, name = text.partition(":")
    with users_code(f"{what} is {text}; {module} cannot be imported"):
        loaded = import_module(module)
    if not hasattr(loaded, name):
        raise InputError("unknown", f"{what} is {text}; the module {module} has no {name!r}")
    return getattr(loaded, name)


class Keras(Model):
    """A Keras model."""

    def __init__(self, model: Any, features: Features) -> None:
        name = getattr(model, "name", None)
        super().__init__(name if isinstance(name, str) else type(model).__name__, features)
        shape = getattr(model, "input_shape", None)
        if isinstance(shape, tuple) and len(shape) > 1:
            self.shape = shape[1:]
        self._model, self._two = model, False
        if self.wanted:
            self._add_features(model)

    def _add_features(self, model: Any) -> None:
        layers = {layer.name: layer for layer in model.layers}
        if self.asked is not None:
            if self.asked not in layers:
                last = ", ".join(list(layers)[-5:])
                raise self.refusal("unknown", f"has no layer {self.asked!r}; the last ones are {last}")
            name, tensor = str(self.asked), layers[str(self.asked)].output
        else:
            dense = [layer for layer in layers.values() if type(layer).__name__ == "Dense"]
            if not dense:
                self.without_features(f"the model has no dense layer; name a layer with {option('features')}")
                return
            name, tensor = f"input of {dense[-1].name}", dense[-1].input
        if self.too_wide(name, int(np.prod([each or 0 for each in tensor.shape[1:]]))):
            return
        # The package that the model is of: Keras has been published under several names.
        package = import_module(type(model).__module__.partition(".")[0])
        made = getattr(package, "Model", None) or package.keras.Model
        self._model, self._two = made(model.inputs, [model.outputs[0], tensor]), True

    def __call__(self, x: Array) -> Outputs:
        """Run a batch."""
        try:
            outputs = self._model.predict(x, verbose=0, batch_size=len(x))
        except (ValueError, TypeError) as error:
            raise self.cannot_run(x, error) from None
        outputs = outputs if self._two else [outputs]
        return Outputs(*(np.asarray(each).reshape(len(x), -1) for each in outputs))


class Plain(Model):
    """An object with ``predict_proba``, or a function."""

    def __init__(self, model: Any, features: Features) -> None:
        super().__init__(getattr(model, "__name__", None) or type(model).__name__, features)
        self.input = None
        self._call = getattr(model, "predict_proba", None) or model
        classes = getattr(model, "classes_", None)
        self.classes = None if classes is None else list(np.asarray(classes).tolist())
        if self.asked is not None:
            problem = f"is a function, in which {features!r} cannot be looked up"
            raise self.refusal("unsupported", f"{problem}; let it return (posteriors, features)")

    def __call__(self, x: Array) -> Outputs:
        """Run a batch."""
        with users_code(f"failed on input of shape {x.shape[1:]}", self.name):
            outputs = self._call(x)
        pair = isinstance(outputs, tuple) and len(outputs) == 2
        probs, features = outputs if pair else (outputs, None)
        probs = self._rows("posteriors", probs, len(x))
        if features is None or not self.wanted:
            return Outputs(probs)
        features = self._rows("features", features, len(x))
        if features.shape[1] > WIDEST:
            raise self.refusal("limit", f"returns {features.shape[1]:,} features, at most {WIDEST} go")
        return Outputs(probs, features)

    def _rows(self, what: str, values: Any, count: int) -> Array:
        try:
            rows = np.asarray(values)
        except (ValueError, TypeError):
            raise self.refusal("value", f"{what} are not a table of numbers") from None
        if rows.dtype.kind not in "iuf":
            raise self.refusal("value", f"{what} are {rows.dtype}, expected numbers")
        if rows.ndim == 0 or len(rows) != count:
            problem = f"{what} have shape {rows.shape} for {count} inputs"
            raise self.refusal("value", f"{problem}, expected one row each")
        return rows.reshape(count, -1)
