"""Count instructions of CMSIS-NN and of our kernels on the same int8 networks, in one image for a Cortex-M4.

    python tools/cmsis_nn.py --cmsis FOLDER [--only NAME] [--steps] [--write]

FOLDER holds the sources of CMSIS-NN, of which nothing is kept here. The networks have the shapes of MLPerf
Tiny and random weights. Both engines must give the bytes of TFLite's reference kernels. --steps prints every
step, --write stores the counts in bench/cmsis_nn.json. Needs arm-none-eabi-gcc and qemu-system-arm.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tflite_reference import evaluate

from tcuq.base.errors import InputError
from tcuq_device.boards import board
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import ALONE, BOARDS, START, fresh, link
from tcuq_device.firmware.decision import FIRMWARE
from tcuq_device.generate.arena import lay_out
from tcuq_device.generate.source import write
from tcuq_device.tflite.convert import graph_of
from tcuq_device.tflite.curves import limits
from tcuq_device.tflite.fixed_point import channel_factors, multiplier_of, radius
from tcuq_device.tflite.model import Model, Operator, Options, Tensor, spread
from tcuq_device.tools import version

LEVEL = "-O3"
STORED = Path(__file__).resolve().parents[1] / "bench" / "cmsis_nn.json"
ONE_ROUNDING = "arm_nn_vec_mat_mult_t_s8.c"
"""Fully connected layers round once in TFLite's reference kernels: this file has a macro for it."""

FOLDERS = ("Convolution", "FullyConnected", "Pooling", "Softmax", "BasicMath", "NNSupport")
"""Functions that the networks may call; the linker leaves out the others."""


class Network:
    """A TFLite model in the making; every layer takes the number of a tensor and returns that of its output.

    Weights are random. Scales are such that activations keep about one size from layer to layer.
    """

    def __init__(self, *shape: int) -> None:
        self.random = np.random.default_rng(1)
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self._tensor((1, *shape), 0.02, 0)

    def _tensor(self, shape: Sequence[int], scale: float | npt.NDArray[Any], zero: int, **rest: Any) -> int:
        scales = np.atleast_1d(np.asarray(scale, np.float32))
        zeros = np.full(len(scales), zero, np.int64)
        self.tensors.append(Tensor(f"t{len(self.tensors)}", tuple(shape), "int8", scales, zeros, **rest))
        return len(self.tensors) - 1

    def _made(
        self, code: str, inputs: Sequence[int], shape: Sequence[int], relu: bool, **options: Any
    ) -> int:
        scale, zero = (1 / 256, -128) if code == "SOFTMAX" else (0.03, -128) if relu else (0.04, 3)
        if code == "AVERAGE_POOL_2D":
            scale, zero = float(self.tensors[inputs[0]].scale), self.tensors[inputs[0]].zero
        target = self._tensor(shape, scale, zero)
        how = Options(activation="RELU" if relu else "NONE", **options)
        self.operators.append(Operator(code, tuple(inputs), (target,), how, len(self.operators)))
        return target

    def _weights(self, shape: tuple[int, ...], summed: int, axis: int | None) -> list[int]:
        """Add weights, a scale for each index of an axis or one for all, and biases; return their numbers."""
        outputs = shape[0] if axis is None else shape[axis]
        scale = 1.6 / (40 * math.sqrt(summed)) * self.random.uniform(0.7, 1.4, 1 if axis is None else outputs)
        weights = np.clip(self.random.normal(0, 40, shape).round(), -127, 127).astype(np.int8)
        biases = self.random.integers(-2000, 2000, outputs).astype(np.int32)
        return [
            self._tensor(shape, scale, 0, axis=axis or 0, data=weights),
            self._tensor((outputs,), scale, 0, data=biases),
        ]

    def conv(
        self, source: int, outputs: int, kernel: tuple[int, int] = (3, 3), stride: int = 1, relu: bool = True
    ) -> int:
        """Add a convolution."""
        _, height, width, depth = self.tensors[source].shape
        rest = self._weights((outputs, *kernel, depth), math.prod(kernel) * depth, 0)
        shape = (1, -(-height // stride), -(-width // stride), outputs)
        options = {"padding": "SAME", "stride": (stride, stride)}
        return self._made("CONV_2D", [source, *rest], shape, relu, **options)

    def depthwise(self, source: int, stride: int = 1) -> int:
        """Add a depthwise convolution of 3 x 3."""
        _, height, width, depth = self.tensors[source].shape
        rest = self._weights((1, 3, 3, depth), 9, 3)
        shape = (1, -(-height // stride), -(-width // stride), depth)
        options = {"padding": "SAME", "stride": (stride, stride)}
        return self._made("DEPTHWISE_CONV_2D", [source, *rest], shape, True, **options)

    def dense(self, source: int, outputs: int, relu: bool) -> int:
        """Add a fully connected layer."""
        inputs = math.prod(self.tensors[source].shape)
        rest = self._weights((outputs, inputs), inputs, None)
        return self._made("FULLY_CONNECTED", [source, *rest], (1, outputs), relu)

    def add(self, first: int, second: int) -> int:
        """Add a sum with a ReLU."""
        return self._made("ADD", [first, second], self.tensors[first].shape, True)

    def classes(self, source: int, outputs: int) -> Model:
        """Add the mean over the picture, a fully connected layer and a softmax, and return the model."""
        _, height, width, depth = self.tensors[source].shape
        window = {"window": (height, width), "stride": (height, width)}
        mean = self._made("AVERAGE_POOL_2D", [source], (1, 1, 1, depth), False, **window)
        logits = self.dense(mean, outputs, False)
        return self.model(self._made("SOFTMAX", [logits], (1, outputs), False))

    def model(self, last: int) -> Model:
        """Return the model, whose output is a tensor."""
        return Model(self.tensors, self.operators, (0,), (last,))


def resnet8() -> Model:
    """Return ResNet-8 for pictures of 32 x 32."""
    net = Network(32, 32, 3)
    x = net.conv(0, 16)
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(net.conv(x, outputs, stride=stride), outputs, relu=False)
        x = net.add(y, x if stride == 1 else net.conv(x, outputs, (1, 1), stride, relu=False))
    return net.classes(x, 10)


def dscnn() -> Model:
    """Return DS-CNN for keywords, 49 x 10 coefficients."""
    net = Network(49, 10, 1)
    x = net.conv(0, 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x), 64, (1, 1))
    return net.classes(x, 12)


def mobilenet() -> Model:
    """Return MobileNetV1 with a quarter of the channels, for pictures of 96 x 96."""
    net = Network(96, 96, 3)
    x = net.conv(0, 8, stride=2)
    widths = (16, 32, 32, 64, 64, *(128,) * 6, 256, 256)
    for at, outputs in enumerate(widths):
        x = net.conv(net.depthwise(x, 2 if at in (1, 3, 5, 11) else 1), outputs, (1, 1))
    return net.classes(x, 2)


def autoencoder() -> Model:
    """Return the autoencoder for anomalies: 640 values through 8."""
    net, x = Network(640), 0
    for outputs in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = net.dense(x, outputs, True)
    return net.model(net.dense(x, 640, False))


NETWORKS: dict[str, Callable[[], Model]] = {
    "ResNet-8": resnet8,
    "DS-CNN": dscnn,
    "MobileNetV1 0.25": mobilenet,
    "autoencoder": autoencoder,
}


class Driver:
    """A model as calls of CMSIS-NN: constants, a buffer for each tensor, and a call for each operator."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lines = ['#include "arm_nnfunctions.h"', "static int32_t scratch[1 << 14];"]
        self.lines.append("static cmsis_nn_context context = {scratch, sizeof scratch};")
        self.calls: list[str] = []
        for operator in model.operators:
            target = operator.outputs[0]
            self._define("int8_t", f"at{target}", [], model.tensors[target].size)
            self.calls.append(self._call(operator, f"o{target}"))

    def _define(self, kind: str, name: str, values: Sequence[int], count: int = 0) -> str:
        """Define constants, or a buffer, at an address that words may be read from."""
        text = f" = {{{', '.join(map(str, values))}}}" if len(values) else ""
        size = len(values) or count
        const = "const " if len(values) else ""
        self.lines.append(f"static {const}{kind} {name}[{size}] __attribute__((aligned(4))){text};")
        return name

    def _call(self, operator: Operator, name: str) -> str:
        tensors = self.model.tensors
        inputs, target = [tensors[each] for each in operator.inputs], tensors[operator.outputs[0]]
        source, options = inputs[0], operator.options
        places = [f"at{each}" for each in (*operator.inputs, *operator.outputs)]
        places = ["input" if each == "at0" else each for each in places]
        low, high = limits(options.activation, target)
        if operator.code == "SOFTMAX":
            factor, shift = multiplier_of(float(source.scale) * 2**26)
            numbers = f"1, {source.size}, {factor}, {shift}, {-radius(5, shift)}"
            return f"arm_softmax_s8({places[0]}, {numbers}, {places[1]});"
        if operator.code == "ADD":
            double = 2 * max(float(each.scale) for each in inputs)
            numbers = [
                f"{-each.zero}, {', '.join(map(str, multiplier_of(float(each.scale) / double)))}"
                for each in inputs
            ]
            last = ", ".join(map(str, multiplier_of(double / (2**20 * float(target.scale)))))
            return (
                f"arm_elementwise_add_s8({places[0]}, {places[1]}, {', '.join(numbers)}, 20, {places[2]}, "
                f"{target.zero}, {last}, {low}, {high}, {target.size});"
            )
        window, ends = f"{_tile(options.stride)}, {{0, 0}}", f"{{{low}, {high}}}"
        if operator.code == "AVERAGE_POOL_2D":
            self.lines.append(f"static const cmsis_nn_pool_params {name} = {{{window}, {ends}}};")
            return (
                f"arm_avgpool_s8(&context, &{name}, {self._dims(name, 0, source.shape)}, {places[0]}, "
                f"{self._dims(name, 1, (1, *options.window, 1))}, {self._dims(name, 2, target.shape)}, "
                f"{places[1]});"
            )
        return self._weighted(operator, name, places[0], places[-1], ends)

    def _weighted(self, operator: Operator, name: str, given: str, made: str, ends: str) -> str:
        tensors = self.model.tensors
        source, weights, bias = (tensors[each] for each in operator.inputs)
        target, options = tensors[operator.outputs[0]], operator.options
        assert weights.data is not None and bias.data is not None
        dense, depthwise = (operator.code == each for each in ("FULLY_CONNECTED", "DEPTHWISE_CONV_2D"))
        multiplier, shift = channel_factors(operator.code, source, weights, target, len(bias.data))
        named = self._define("int8_t", f"{name}_weights", weights.data.ravel().tolist())
        biases = self._define("int32_t", f"{name}_bias", bias.data.tolist())
        offsets = f"{-source.zero}, " + ("0, " if dense else "") + f"{target.zero}"
        kind, quant, function = (
            "cmsis_nn_conv_params",
            "cmsis_nn_per_channel_quant_params",
            "convolve_wrapper",
        )
        if dense:
            kind, quant, function = (
                "cmsis_nn_fc_params",
                "cmsis_nn_per_tensor_quant_params",
                "fully_connected",
            )
            factors, rest = f"{multiplier[0]}, {shift[0]}", ""
            shapes = (1, 1, 1, source.size), (source.size, 1, 1, len(bias.data)), (1, 1, 1, len(bias.data))
        else:
            # The library's type is not constant, but it never writes there.
            factors = ", ".join(
                f"(int32_t *){self._define('int32_t', f'{name}_{what}', values.tolist())}"
                for what, values in (("multiplier", multiplier), ("shift", shift))
            )
            height, width = weights.shape[1:3]
            padding = tuple(
                spread(source.shape[1 + at], length, options.stride[at], 1, options.padding)[1]
                for at, length in enumerate((height, width))
            )
            rest = f"{_tile(options.stride)}, {_tile(padding)}, {{1, 1}}, "
            if depthwise:
                kind, function, rest = "cmsis_nn_dw_conv_params", "depthwise_conv_wrapper", f"1, {rest}"
            shapes = source.shape, weights.shape, target.shape
        self.lines.append(f"static const {kind} {name} = {{{offsets}, {rest}{ends}}};")
        self.lines.append(f"static const {quant} {name}_quant = {{{factors}}};")
        first, second, third = (self._dims(name, at, shape) for at, shape in enumerate(shapes))
        return (
            f"arm_{function}_s8(&context, &{name}, &{name}_quant, {first}, {given}, {second}, {named}, "
            f"{self._dims(name, 3, (1, 1, 1, len(bias.data)))}, {biases}, {third}, {made});"
        )

    def _dims(self, name: str, at: int, shape: Sequence[int]) -> str:
        self.lines.append(f"static const cmsis_nn_dims {name}_{at} = {{{', '.join(map(str, shape))}}};")
        return f"&{name}_{at}"


def _tile(pair: Sequence[int]) -> str:
    return f"{{{pair[1]}, {pair[0]}}}"


PLAN = """\
#include <string.h>
#include "harness.h"
#include "net.h"
#include "rule.h"
static uint32_t words[(PLAN_INPUT + 3u) / 4u];
static uint32_t arena[{arena} / 4 + 1];
static const int8_t *const input = (const int8_t *)words;
{lines}
int8_t *network_input(void)
{{
    return (int8_t *)words;
}}
void network_run(const int8_t **probs, const int8_t **features)
{{
    net_outputs out;
    net_run(input, (int8_t *)arena, &out);
    *probs = out.y;
    *features = NULL;
}}
int rule_start(void)
{{
    return 0;
}}
void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{{
    (void)features;
    {calls}
    rule_end();
    out->prediction = memcmp(probs, {last}, PLAN_CLASSES) != 0;
    out->score = 0;
    rule_begin();
}}
"""


class Counted(NamedTuple):
    """What an operator takes: its code, multiply-adds, instructions of CMSIS-NN and of ours."""

    code: str
    products: int
    theirs: int
    ours: int


def measure(model: Model, cmsis: Path, kept: Path) -> list[Counted]:
    """Return what each operator takes; refuse an output that is not that of the reference.

    `kept` is a folder that keeps compiled files.
    """
    graph = replace(graph_of(model), outputs={"y": f"t{model.outputs[0]}"})
    work, last = fresh(kept / "image"), model.outputs[0]
    files = [path for path in write(graph, work, "net", keep_input=True) if path.suffix == ".c"]
    # A mark after each call: the harness then counts step by step.
    text = (work / "net.c").read_text(encoding="utf-8")
    text = text.replace(";\n    tcuq_nn_", ";\n    network_end();\n    network_begin();\n    tcuq_nn_")
    (work / "net.c").write_text(f'#include "harness.h"\n{text}', encoding="utf-8")
    driver = Driver(model)
    plan = PLAN.format(
        arena=lay_out(graph, keep_input=True).bytes,
        lines="\n".join(driver.lines),
        calls="\n    rule_end();\n    rule_begin();\n    ".join(driver.calls),
        last=f"at{last}",
    )
    (work / "plan.c").write_text(plan, encoding="utf-8")
    sizes = {
        "INPUT": model.tensors[0].size,
        "CLASSES": model.tensors[last].size,
        "FEATURES": 0,
        "MONITORS": 0,
    }
    (work / "plan.h").write_text("".join(f"#define PLAN_{name} {size}u\n" for name, size in sizes.items()))
    library = sorted(
        path
        for each in FOLDERS
        for path in (cmsis / "Source" / f"{each}Functions").glob("*.c")
        if not path.stem.endswith(("_f16", "_f32", "_s16", "_s4")) or "_s8_s16" in path.name
    )
    once = [path for path in library if path.name == ONE_ROUNDING]
    if len(once) != 1:
        raise InputError("value", f"{cmsis} has no Source/NNSupportFunctions/{ONE_ROUNDING}", "--cmsis")
    theirs = [LEVEL, "-w", "-std=gnu99", f"-I{cmsis / 'Include'}"]
    groups = [
        (files, [LEVEL]),
        ([work / "plan.c"], [LEVEL, "-w", f"-I{cmsis / 'Include'}"]),
        ([path for path in library if path not in once], theirs),
        (once, [*theirs, "-DCMSIS_NN_USE_SINGLE_ROUNDING"]),
        ([FIRMWARE / "main.c", BOARDS / "startup.c"], ["-Os", *START]),
        (sorted(FIRMWARE / f"harness{end}.c" for end in ("", "_report", "_step")), ALONE),
    ]
    # More memory than the chip has: two engines in one image, and tensors of CMSIS-NN share no place.
    roomy = replace(board("netduinoplus2"), flash_bytes=0x200000, ram_bytes=0x100000)
    image = link("both", roomy, work, groups, [], kept)
    given = np.random.default_rng(2).integers(-128, 128, model.tensors[0].shape).astype(np.int8)
    ran = emulate(image, given.tobytes(), counted=True, kept=kept)
    _, _, said, _, differs, _ = ran.lines[0].split()
    wanted = evaluate(model, [given])[last].tobytes()
    if bytes.fromhex(said) != wanted or differs != "0":
        raise InputError("failed", "the outputs are not those of the reference kernels")
    return [
        Counted(operator.code, _products(model, operator), *pair)
        for operator, *pair in zip(
            model.operators,
            ran.counts["rule"].instructions[: len(driver.calls)],
            ran.counts["network"].instructions,
            strict=True,
        )
    ]


def _products(model: Model, operator: Operator) -> int:
    if len(operator.inputs) < 3:
        return 0
    weights, target = model.tensors[operator.inputs[1]], model.tensors[operator.outputs[0]]
    each = (
        math.prod(weights.shape[1:3])
        if operator.code == "DEPTHWISE_CONV_2D"
        else weights.size // weights.shape[0]
    )
    return target.size * each


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cmsis", required=True, type=Path, help="folder with the sources of CMSIS-NN")
    parser.add_argument("--only", choices=NETWORKS, help="one network")
    parser.add_argument("--steps", action="store_true", help="print every step")
    parser.add_argument("--write", action="store_true", help="store the counts of all networks")
    options = parser.parse_args(arguments)
    try:
        count(options)
    except InputError as error:
        parser.exit(2, f"cmsis_nn: {error}\n")
    return 0


def count(options: argparse.Namespace) -> None:
    """Print the counts of the networks that were asked for, and store them."""
    rows: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as kept:
        for name in [options.only] if options.only else list(NETWORKS):
            steps = measure(NETWORKS[name](), options.cmsis.resolve(), Path(kept))
            sums = [sum(each) for each in zip(*(each[1:] for each in steps), strict=True)]
            rows[name] = dict(zip(Counted._fields[1:], sums, strict=True))
            for each in [*(steps if options.steps else ()), Counted(name, *sums)]:
                print(
                    f"{each.code:18} {each.products:11,} products, CMSIS-NN {each.theirs:11,}, "
                    f"ours {each.ours:11,}: {each.ours / max(each.products, 1):.2f} a product, "
                    f"{each.theirs / each.ours:.2f} times fewer"
                )
    found = {"compiler": version("arm-none-eabi-gcc"), "level": LEVEL, "measured": rows}
    if options.only is None:
        from tcuq_lab.changes import put  # only who compares figures needs the lab

        put(STORED, json.dumps(found, indent=1, allow_nan=False) + "\n", options.write)


if __name__ == "__main__":
    sys.exit(main())
