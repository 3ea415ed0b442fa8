"""TFLite models, by LiteRT: int8 as its reference kernels compute it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base.limits import read_limited
from ..base.spelling import option
from .model import Array, Features, Format, Model, Outputs, first_line, needed

WIDEST_SOFTMAX = 511
"""Classes of an int8 softmax that LiteRT's reference kernel can sum; on a larger sum it ends the process."""


def format_of(details: dict[str, Any]) -> Format | None:
    """Return scale and zero point of an integer tensor; None for a float one."""
    if np.dtype(details["dtype"]).kind not in "iu":
        return None
    scale, zero_point = details["quantization"]
    return Format(float(scale), int(zero_point)) if scale else None


class TFLite(Model):
    """A ``.tflite`` file."""

    stateful = True  # it may have variables

    def __init__(self, path: Path, features: Features, posteriors: str | None, fast: bool) -> None:
        super().__init__(path.name, features)
        self._litert = needed("ai_edge_litert.interpreter", "ai-edge-litert", "a .tflite model")
        self._content = read_limited(path, "file")
        kinds = self._litert.OpResolverType
        self._load(kinds.BUILTIN_REF)
        int8 = any(each["dtype"] == np.int8 for each in self._tensors.values())
        made = [self._tensors[int(op["outputs"][0])] for op in self._ops if op["op_name"] == "SOFTMAX"]
        wide = any(each["dtype"] == np.int8 and each["shape"][-1] > WIDEST_SOFTMAX for each in made)
        if fast or wide or not int8:
            self._load(kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        if int8 and (fast or wide):
            cannot = (
                f"a softmax of more than {WIDEST_SOFTMAX} classes, which LiteRT's reference kernels cannot do"
            )
            why = "fast kernels" if fast else f"{cannot}, runs on the fast ones"
            differ = "single bits may differ from the reference kernels and from your device"
            self.notes.append(f"{why}: {differ}")
        self._input = self.only_input(self._runner.get_input_details())
        outputs = self._runner.get_output_details()
        names = [each["name"] for each in outputs]
        self._output = outputs[names.index(self.output_of(names, names, posteriors))]
        self.shape = tuple(int(each) for each in self._input["shape"][1:])
        self.input, self.quantized = np.dtype(self._input["dtype"]), format_of(self._input)
        self.inside, self.probs_format = self._inside(), format_of(self._output)
        self._features = self._choose_features() if self.wanted else None
        self.features_format = format_of(self._features) if self._features is not None else None

    def _load(self, kernels: Any) -> None:
        if not self._content:
            raise self.refusal("missing", "is empty, expected a TFLite model")
        try:
            more = {"experimental_op_resolver_type": kernels, "experimental_preserve_all_tensors": True}
            self._runner = self._litert.Interpreter(model_content=self._content, **more)
            self._runner.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            problem = "is no TFLite model that LiteRT can run, or is truncated"
            raise self.refusal("damaged", f"{problem}: {first_line(error)}") from None
        self._kernels = kernels
        self._tensors = {int(each["index"]): each for each in self._runner.get_tensor_details()}
        self._ops = self._runner._get_ops_details()

    def _inside(self) -> tuple[Format, Any] | None:
        """Return what a float input becomes at once in a model that is int8 inside."""
        for op in self._ops:
            if op["op_name"] == "QUANTIZE" and int(op["inputs"][0]) == int(self._input["index"]):
                made = self._tensors[int(op["outputs"][0])]
                format = format_of(made)
                if self.quantized is None and format is not None:
                    return format, np.dtype(made["dtype"])
        return None

    def _choose_features(self) -> dict[str, Any] | None:
        tensors = self._tensors
        if self.asked is None:
            dense = [op for op in self._ops if op["op_name"] == "FULLY_CONNECTED"]
            if not dense:
                way = f"name a tensor with {option('features')}"
                self.without_features(f"the model has no fully connected layer; {way}")
                return None
            found = tensors[int(dense[-1]["inputs"][0])]
        else:
            named = [each for each in tensors.values() if each["name"] == self.asked]
            number = int(self.asked) if str(self.asked).isdecimal() else -1
            if not named and number not in tensors:
                last = ", ".join(f"{n} {each['name']}" for n, each in sorted(tensors.items())[-5:])
                raise self.refusal("unknown", f"has no tensor {self.asked!r}; the last ones are {last}")
            found = named[0] if named else tensors[number]
            made = {int(self._input["index"]), *(int(each) for op in self._ops for each in op["outputs"])}
            if int(found["index"]) not in made:  # weights and the like say nothing of an input
                numbers = ", ".join(map(str, sorted(made)))
                raise self.refusal("value", f"tensor {found['index']} is constant; choose one of {numbers}")
        width = int(np.prod(found["shape"])) // max(1, int(self._input["shape"][0]))
        return None if self.too_wide(found["name"], width) else found

    def reset(self) -> None:
        """Forget what earlier inputs left in the model, as at its start."""
        if any(op["op_name"] == "VAR_HANDLE" for op in self._ops):
            self._load(self._kernels)  # resource variables: LiteRT resets variable tensors alone
        else:
            self._runner.reset_all_variables()

    def __call__(self, x: Array) -> Outputs:
        """Run a batch, one input after the other: what most models for devices are made for."""
        probs, features = [], []
        for each in x:
            self._runner.set_tensor(self._input["index"], each[None])
            self._runner.invoke()
            probs.append(self._runner.get_tensor(self._output["index"]).reshape(-1))
            if self._features is not None:
                features.append(self._runner.get_tensor(self._features["index"]).reshape(-1))
        return Outputs(np.stack(probs), np.stack(features) if features else None)
