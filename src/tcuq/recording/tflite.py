"""TFLite models, by LiteRT: int8 as its reference kernels compute it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.limits import read_limited
from .model import Array, Features, Format, Info, Outputs, first_line, needed, too_wide

POSTERIORS = Format(1 / 256, -128)
"""How an int8 softmax leaves its outputs; a log keeps these as they are."""


def format_of(details: dict[str, Any]) -> Format | None:
    """Return scale and zero point of an integer tensor; None for a float one."""
    if np.dtype(details["dtype"]).kind not in "iu":
        return None
    scale, zero_point = details["quantization"]
    return Format(float(scale), int(zero_point)) if scale else None


WIDEST_SOFTMAX = 511
"""Classes of an int8 softmax that LiteRT's reference kernel can sum; on a larger sum it ends the process."""


class TFLite:
    """A ``.tflite`` file, ready to run."""

    def __init__(self, path: Path, features: Features, posteriors: str | None, fast: bool) -> None:
        self.info = Info(path.name)
        litert = needed("ai_edge_litert.interpreter", "ai-edge-litert", "a .tflite model")
        content = read_limited(path, "file")
        kinds = litert.OpResolverType
        self._again = litert, content, kinds.BUILTIN_REF
        self._runner = self._load(*self._again)
        quantized = any(d["dtype"] == np.int8 for d in self._runner.get_tensor_details())
        wide = self._wide_softmax()
        if fast or wide or not quantized:
            self._again = litert, content, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            self._runner = self._load(*self._again)
            if quantized:
                why = "fast kernels"
                if wide and not fast:
                    why = f"a softmax of more than {WIDEST_SOFTMAX} classes, which LiteRT's reference kernels"
                    why += " cannot do, runs on the fast ones"
                differ = "single bits may differ from the reference kernels and from your device"
                self.info.notes.append(f"{why}: {differ}")
        inputs = self._runner.get_input_details()
        if len(inputs) != 1:
            raise InputError("unsupported", f"{path.name}: has {len(inputs)} inputs, expected one")
        self._input = inputs[0]
        self._output = self._choose_output(posteriors)
        info = self.info
        info.shape = tuple(int(each) for each in self._input["shape"][1:])
        info.input, info.quantized = np.dtype(self._input["dtype"]), format_of(self._input)
        info.inside = self._inside()
        info.probs = format_of(self._output)
        self._resources = any(op["op_name"] == "VAR_HANDLE" for op in self._runner._get_ops_details())
        self._features = None if features is False else self._choose_features(features)
        if self._features is not None:
            info.features = format_of(self._features)

    def _load(self, litert: Any, content: bytes, kind: Any) -> Any:
        if not content:
            raise self.info.refusal("missing", "is empty, expected a TFLite model")
        try:
            more = {"experimental_op_resolver_type": kind, "experimental_preserve_all_tensors": True}
            interpreter = litert.Interpreter(model_content=content, **more)
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            problem = "is no TFLite model that LiteRT can run, or is truncated"
            raise self.info.refusal("damaged", f"{problem}: {first_line(error)}") from None
        return interpreter

    def _wide_softmax(self) -> bool:
        tensors = {int(each["index"]): each for each in self._runner.get_tensor_details()}
        made = [op["outputs"][0] for op in self._runner._get_ops_details() if op["op_name"] == "SOFTMAX"]
        outputs = [tensors[int(each)] for each in made]
        return any(each["dtype"] == np.int8 and each["shape"][-1] > WIDEST_SOFTMAX for each in outputs)

    def _inside(self) -> tuple[Format, Any] | None:
        """Return what a float input becomes at once in a model that is int8 inside."""
        tensors = {int(each["index"]): each for each in self._runner.get_tensor_details()}
        for op in self._runner._get_ops_details():
            if op["op_name"] == "QUANTIZE" and int(op["inputs"][0]) == int(self._input["index"]):
                made = tensors[int(op["outputs"][0])]
                format = format_of(made)
                if self.info.quantized is None and format is not None:
                    return format, np.dtype(made["dtype"])
        return None

    def _choose_output(self, name: str | None) -> dict[str, Any]:
        details: list[dict[str, Any]] = self._runner.get_output_details()
        names = [each["name"] for each in details]
        if name is not None:
            if name not in names:
                raise self.info.refusal("unknown", f"has no output {name!r}, expected {', '.join(names)}")
            return details[names.index(name)]
        if len(details) > 1:
            problem = f"has {len(details)} outputs; name that of the posteriors with `posteriors`"
            raise self.info.refusal("missing", f"{problem}: {', '.join(names)}")
        return details[0]

    def _choose_features(self, chosen: Features) -> dict[str, Any] | None:
        tensors = {int(each["index"]): each for each in self._runner.get_tensor_details()}
        asked = chosen is not None
        if chosen is None or chosen is True:
            dense = [op for op in self._runner._get_ops_details() if op["op_name"] == "FULLY_CONNECTED"]
            if not dense:
                why = "the model has no fully connected layer; name a tensor with `features`"
                self.info.without_features(why)
                return None
            found = tensors[int(dense[-1]["inputs"][0])]
        else:
            named = [each for each in tensors.values() if each["name"] == chosen]
            number = int(chosen) if str(chosen).isdecimal() else -1
            if not named and number not in tensors:
                last = ", ".join(f"{n} {each['name']}" for n, each in sorted(tensors.items())[-5:])
                raise self.info.refusal("unknown", f"has no tensor {chosen!r}; the last ones are {last}")
            found = named[0] if named else tensors[number]
            self._refuse_constant(found)
        width = int(np.prod(found["shape"])) // max(1, int(self._input["shape"][0]))
        return None if too_wide(self.info, found["name"], width, asked) else found

    def _refuse_constant(self, tensor: dict[str, Any]) -> None:
        """Refuse weights and the like, which say nothing of an input."""
        ops = self._runner._get_ops_details()
        made = {int(self._input["index"]), *(int(each) for op in ops for each in op["outputs"])}
        if int(tensor["index"]) not in made:
            numbers = ", ".join(map(str, sorted(made)))
            raise self.info.refusal("value", f"tensor {tensor['index']} is constant; choose one of {numbers}")

    def reset(self) -> None:
        """Forget what earlier inputs left in the model, as at its start."""
        if self._resources:  # resource variables: LiteRT resets variable tensors alone
            self._runner = self._load(*self._again)
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
