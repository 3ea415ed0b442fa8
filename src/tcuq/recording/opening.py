"""From what a user calls a model to one that is ready to run."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from ..base.errors import InputError, InputTypeError
from .model import Features, Model, first_line

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
            if kind in CODE:
                raise InputError(
                    "unsupported",
                    f"{path}: is a {CODE[kind]} file, expected module:name; load the model in a Python file, "
                    "such as net = ... in my_model.py, and pass my_model:net",
                )
            if kind == ".h5":
                raise InputError(
                    "unsupported",
                    f"{path}: is an old Keras file, expected .keras; save it with model.save('x.keras')",
                )
            if path.is_dir():
                raise InputError(
                    "value", f"{path}: is a folder, expected a model file ({ENDINGS}) or module:name"
                )
            if not path.exists() and kind in ("", *READ):
                raise InputError("missing", f"{path}: No such file or directory")
            if kind == ".py":
                raise InputError("value", f"{path}: is a Python file; pass {path.stem}:NAME of a model in it")
            if kind not in READ:
                raise InputError(
                    "unknown", f"{path}: extension {kind!r} is unknown, expected {ENDINGS}, or module:name"
                )
            return _from_file(path, kind, features, posteriors, fast)
    return _from_object(model, features)


def _from_file(path: Path, kind: str, features: Features, posteriors: str | None, fast: bool) -> Model:
    if kind == ".tflite":
        from .tflite import TFLite

        return TFLite(path, features, posteriors, fast)
    if kind == ".onnx":
        from .onnx import ONNX

        return ONNX(path, features, posteriors)
    from .keras import Keras

    models = _keras().models
    try:
        loaded = models.load_model(path, compile=False)
    except (ValueError, OSError, TypeError, KeyError) as error:
        raise InputError(
            "damaged", f"{path.name}: is no Keras model, or is truncated: {first_line(error)}"
        ) from None
    return Keras(loaded, features)


def _keras() -> Any:
    """Import Keras; it fails as an ImportError, too, where the package is there and its backend is not."""
    try:
        return import_module("keras")
    except ImportError as error:
        missing = str(getattr(error, "name", "") or "").partition(".")[0]
        if missing in ("", "keras"):
            raise InputError(
                "needs",
                "a .keras model needs Keras and a backend; install them with: pip install keras tensorflow",
            ) from None
        raise InputError(
            "needs",
            f"a .keras model needs a backend of Keras, and {missing} is not installed: pip install {missing}"
            ", or choose one that is with the environment variable KERAS_BACKEND: tensorflow, jax or torch",
        ) from None


def _from_object(model: Any, features: Features) -> Model:
    from .keras import Keras, is_keras
    from .plain import Plain
    from .torch import Torch, is_module

    if is_module(model):
        return Torch(model, features)
    if is_keras(model):
        return Keras(model, features)
    if callable(getattr(model, "predict_proba", None)) or callable(model):
        return Plain(model, features)
    raise InputTypeError(
        "value",
        f"the model is of type {type(model).__name__}, expected a path, a PyTorch or Keras model, an object "
        "with predict_proba, or a function",
    )


def is_reference(text: str) -> bool:
    r"""Tell whether a text is ``module:name`` and not a path.

    Examples
    --------
    >>> is_reference("my.nets:small"), is_reference("a/b.npz"), is_reference("C:\\x.npz")
    (True, False, False)
    """
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text) is not None


def referred(text: str, what: str) -> Any:
    """Import what ``module:name`` stands for."""
    module, _, name = text.partition(":")
    try:
        found = import_module(module)
    except Exception as error:  # of the user's own code
        said = f"{type(error).__name__}: {first_line(error)}"
        raise InputError("failed", f"{what} is {text}; {module} cannot be imported: {said}") from error
    if not hasattr(found, name):
        raise InputError("unknown", f"{what} is {text}; the module {module} has no {name!r}")
    return getattr(found, name)
