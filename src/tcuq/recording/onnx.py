"""ONNX models, by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.limits import read_limited
from .graph_bytes import nodes, penultimate, tail_output
from .model import Array, Features, Info, Outputs, first_line, needed, too_wide

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")


class ONNX:
    """An ``.onnx`` file, ready to run."""

    def __init__(self, path: Path, features: Features, posteriors: str | None) -> None:
        self.info = Info(path.name)
        ort = needed("onnxruntime", "tcuq[onnx]", "an .onnx model")
        content = read_limited(path, "file")
        self._path, self._ort = path, ort
        plain = self._load(content)
        inputs = plain.get_inputs()
        if len(inputs) != 1:
            raise InputError(
                "unsupported", f"{path.name}: has {len(inputs)} inputs, expected a classifier with one"
            )
        (found,) = inputs
        if found.type not in TYPES:
            raise InputError("unsupported", f"{path.name}: its input is {found.type}, expected numbers")
        self._input = found.name
        dims = [each if isinstance(each, int) and each > 0 else None for each in found.shape]
        self.info.shape = tuple(dims[1:])
        self.info.input = np.dtype(TYPES[found.type])
        self._single = bool(dims) and dims[0] == 1
        self._probs = self._choose_output(plain.get_outputs(), posteriors)
        self._features: str | None = None
        self._asked = features not in (None, True, False)
        self._session = plain
        if features is not False:
            self._choose_features(plain, content, features)

    def _load(self, content: bytes) -> Any:
        options = self._ort.SessionOptions()
        options.log_severity_level = 4
        # Weights may lie in files beside the model.
        folder = str(self._path.resolve().parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        try:
            return self._ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its kinds of errors have no common name
            raise InputError(
                "damaged",
                f"{self.info.name}: is no ONNX model that ONNX Runtime can run, or is truncated: "
                f"{first_line(error)}",
            ) from None

    def _choose_output(self, outputs: list[Any], name: str | None) -> str:
        names = [each.name for each in outputs]
        if name is not None:
            if name not in names:
                raise InputError(
                    "unknown", f"{self.info.name}: has no output {name!r}, expected one of {', '.join(names)}"
                )
            return name
        floats = [each.name for each in outputs if each.type in FLOATS]
        if len(floats) == 1:
            return str(floats[0])
        if not floats:
            hint = " (from scikit-learn: convert it with zipmap=False)" if len(outputs) == 2 else ""
            raise InputError(
                "missing", f"{self.info.name}: has no output of floats, expected posteriors or logits{hint}"
            )
        raise InputError(
            "missing",
            f"{self.info.name}: has {len(floats)} outputs; name that of the posteriors with `posteriors`: "
            f"{', '.join(floats)}",
        )

    def _choose_features(self, plain: Any, content: bytes, chosen: Features) -> None:
        info = self.info
        try:
            found = nodes(content)
        except (ValueError, IndexError):
            raise InputError("damaged", f"{info.name}: is no ONNX model, or is truncated") from None
        name = str(chosen) if self._asked else penultimate(found)
        if name is None:
            info.notes.append(
                "features are left out: the model has no fully connected layer; name a tensor with `features`"
            )
            return
        made = [output for node in found for output in node.outputs]
        if self._asked and name not in made:
            last = ", ".join(made[-5:])
            raise InputError("unknown", f"{info.name}: has no tensor {name!r}; the last ones are {last}")
        if name not in made:
            info.notes.append("features are left out: the only fully connected layer reads the input itself")
            return
        if name not in [each.name for each in plain.get_outputs()]:
            self._session = self._load(content + tail_output(name))
        self._features = name

    def __call__(self, x: Array) -> Outputs:
        """Run a batch; one input after the other where the model is made for one."""
        names = [self._probs] + ([self._features] if self._features is not None else [])
        parts = [x[n : n + 1] for n in range(len(x))] if self._single else [x]
        try:
            results = [self._session.run(names, {self._input: part}) for part in parts]
        except Exception as error:  # as above
            raise InputError(
                "failed", f"{self.info.name}: cannot run on input of shape {x.shape[1:]}: {first_line(error)}"
            ) from None
        columns = [np.concatenate(each) for each in zip(*results, strict=True)]
        probs = columns[0].reshape(len(x), -1)
        if self._features is None:
            return Outputs(probs)
        features = columns[1]
        if features.dtype.kind != "f":
            self._leave_out(f"tensor {self._features!r} is {features.dtype} of an unknown scale")
            return Outputs(probs)
        if len(features) != len(x):
            self._leave_out(f"tensor {self._features!r} has {len(features)} rows for {len(x)} inputs")
            return Outputs(probs)
        features = features.reshape(len(x), -1)
        if too_wide(self.info, self._features, features.shape[1], self._asked):
            self._features = None
            return Outputs(probs)
        return Outputs(probs, features)

    def _leave_out(self, said: str) -> None:
        if self._asked:
            raise InputError("value", f"{self.info.name}: {said}, expected floats, one row an input")
        self.info.notes.append(f"features are left out: {said}")
        self._features = None
