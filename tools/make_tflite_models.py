"""Make the small int8 models of device/tests/data, and what LiteRT's reference kernels answer.

Needs tensorflow and ai-edge-litert, each in an environment of its own if need be::

    python tools/make_tflite_models.py models [NAME ...]    # tensorflow: writes *.tflite, all or some
    python tools/make_tflite_models.py answers   # ai-edge-litert: writes answers.json from *.tflite
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "device" / "tests" / "data"


def weights(*shape: int) -> Any:
    """Return random weights, the same for the same shape."""
    random = np.random.default_rng(zlib.crc32(repr(shape).encode()))
    return random.normal(0, 1 / np.sqrt(np.prod(shape[:-1])), shape).astype(np.float32)


def conv(tf: Any, x: Any) -> Any:
    """Strides, equal and not, dilation, both paddings, every fused activation."""
    x = tf.nn.relu6(6 * tf.nn.conv2d(x, weights(3, 3, 3, 4), [1, 1, 1, 1], "SAME") + weights(4))
    x = tf.nn.conv2d(x, weights(3, 2, 4, 5), [1, 2, 1, 1], "SAME") + weights(5)
    x = tf.nn.relu(tf.nn.conv2d(x, weights(2, 2, 5, 4), [1, 1, 1, 1], "VALID", dilations=[1, 2, 2, 1]))
    x = tf.nn.conv2d(x, weights(1, 1, 4, 3), [1, 1, 2, 1], "VALID") + weights(3)
    return tf.nn.conv2d(x, weights(3, 3, 3, 6), [1, 2, 2, 1], "SAME")


def depthwise(tf: Any, x: Any) -> Any:
    """Channel multipliers, strides, dilation, both paddings, every fused activation."""
    x = tf.nn.relu(tf.nn.depthwise_conv2d(x, weights(3, 3, 3, 2), [1, 1, 1, 1], "SAME") + weights(6))
    x = tf.nn.depthwise_conv2d(x, weights(3, 3, 6, 1), [1, 1, 1, 1], "VALID", dilations=[2, 1])
    x = tf.nn.relu6(9 * tf.nn.depthwise_conv2d(x, weights(3, 2, 6, 1), [1, 2, 2, 1], "SAME") + weights(6))
    x = tf.nn.depthwise_conv2d(x, weights(2, 2, 6, 2), [1, 2, 1, 1], "SAME") + weights(12)
    return tf.nn.depthwise_conv2d(x, weights(1, 2, 12, 1), [1, 1, 2, 1], "VALID")


def dense(tf: Any, x: Any) -> Any:
    """Fully connected layers over a picture and over vectors, and a softmax."""
    x = tf.linalg.matmul(tf.reshape(x, (1, 16, 3)), weights(3, 2)) + weights(2)
    x = tf.reshape(x, (1, 32))
    x = tf.nn.relu(x @ weights(32, 10) + weights(10))
    x = tf.nn.relu6(8 * (x @ weights(10, 12)) + weights(12))
    x = x @ weights(12, 7)
    return tf.nn.softmax(3 * x @ weights(7, 6) + weights(6))


def sums(tf: Any, x: Any) -> Any:
    """Add and multiply tensors, with broadcast, with constants, with fused activations."""
    a = tf.nn.conv2d(x, weights(1, 1, 3, 4), [1, 1, 1, 1], "SAME")
    b = tf.nn.conv2d(x, 3 * weights(2, 2, 3, 4), [1, 1, 1, 1], "SAME")
    row = tf.nn.max_pool2d(b, (5, 1), (5, 1), "VALID")
    cell = tf.reduce_mean(b, (1, 2), keepdims=True)
    x = tf.nn.relu(a + b) * row
    x = tf.nn.relu6(x + cell) * weights(1, 5, 1, 1)
    x = tf.nn.relu(x * b)
    return x + row + (a + weights(1, 1, 5, 4)) * cell


def pools(tf: Any, x: Any) -> Any:
    """Pools with overlap and at the border, means over several axes, kept and not."""
    a = tf.nn.avg_pool2d(x, (3, 2), (2, 1), "SAME")
    b = tf.nn.max_pool2d(x, (2, 3), (1, 2), "SAME")
    c = tf.nn.relu(tf.nn.avg_pool2d(x, (2, 2), (1, 1), "VALID"))
    d = tf.nn.relu6(tf.nn.max_pool2d(c, (2, 2), (2, 2), "VALID"))
    return (
        tf.reduce_mean(a, (1, 2)),
        tf.reduce_mean(b, (1, 2), keepdims=True),
        tf.reduce_mean(c, 3),
        tf.reduce_mean(d, (1, 3), keepdims=True),
        tf.reduce_mean(x, 2),
    )


def shapes(tf: Any, x: Any) -> Any:
    """Tensors padded, joined along each axis, reshaped; quantized again where ranges differ."""
    a = tf.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)))
    b = tf.nn.conv2d(a, 4 * weights(2, 2, 3, 2), [1, 1, 1, 1], "SAME")
    deep = tf.concat((a, b, a), 3)
    high = tf.concat((b, tf.nn.relu(b)), 1)
    left = tf.pad(high, ((0, 0), (0, 0), (2, 0), (1, 0)))
    right = tf.nn.sigmoid(tf.pad(high, ((0, 0), (0, 0), (0, 0), (0, 1))))
    flat = tf.squeeze(tf.nn.max_pool2d(deep, (7, 1), (1, 1), "VALID"), (1,))
    return flat, tf.reshape(tf.concat((left, right), 2), (1, -1))


def curves(tf: Any, x: Any) -> Any:
    """Logistic, softmax over the last axis, rectifiers that stand alone."""
    a = tf.nn.sigmoid(4 * x)
    b = tf.nn.softmax(tf.nn.conv2d(x, 9 * weights(1, 1, 3, 8), [1, 1, 1, 1], "SAME"))
    c = tf.nn.relu(tf.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))))
    d = tf.nn.relu6(tf.pad(5 * x, ((0, 0), (0, 1), (0, 0), (0, 0))))
    e = tf.nn.sigmoid(tf.nn.conv2d(x, 0.2 * weights(1, 1, 3, 2), [1, 1, 1, 1], "SAME"))
    return a, b, c, d, e


def more_curves(tf: Any, x: Any) -> Any:
    """Return functions of one value, each with a range of its own."""
    wide = tf.nn.conv2d(x, 5 * weights(1, 1, 3, 6), [1, 1, 1, 1], "SAME")
    return (
        tf.tanh(wide),
        tf.nn.leaky_relu(x, 0.3),
        tf.nn.leaky_relu(wide, -0.1),
        wide * tf.nn.relu6(wide + 3) / 6,
        x * tf.nn.relu6(x + 3) / 6,
        tf.nn.gelu(wide),
        tf.nn.gelu(x, approximate=True),
        tf.abs(wide),
        tf.exp(x),
        tf.minimum(tf.maximum(wide, -1.0), 1.0),
    )


def moves(tf: Any, x: Any) -> Any:
    """Values in another order, cut into parts, stacked and repeated."""
    wide = tf.nn.conv2d(x, weights(1, 1, 3, 8), [1, 1, 1, 1], "SAME")
    left, right = tf.split(wide, 2, 3)
    first, second, third = tf.split(wide, [1, -1, 3], 3)
    shuffled = tf.transpose(tf.reshape(wide, (1, 4, 6, 2, 4)), (0, 1, 2, 4, 3))
    return (
        tf.transpose(x, (0, 3, 1, 2)),
        tf.reshape(shuffled, (1, 4, 6, 8)),
        x[:, 3:0:-2, 1:, ::2],
        x[:, 2, -4:, :2],
        tf.slice(x, (0, 1, 0, 1), (1, -1, 5, 2)),
        tf.concat((third, first, second), 3) + tf.concat((right, left), 3),
        tf.stack(tf.unstack(x, axis=2)[::2], axis=1),
        tf.tile(x, (1, 2, 1, 3)),
        tf.broadcast_to(tf.reduce_max(x, 1, keepdims=True), (1, 5, 6, 3)),
        tf.reverse(x, (2, 3)),
        tf.nn.depth_to_space(tf.nn.space_to_depth(wide, 2), 4),
        tf.compat.v1.image.resize_nearest_neighbor(x, (8, 18)),
        tf.gather(x, [1, 3, 5], axis=2),
    )


def extremes(tf: Any, x: Any) -> Any:
    """Differences, the larger and the smaller of two, the largest and the smallest of many."""
    wide = tf.nn.conv2d(x, 3 * weights(2, 2, 3, 4), [1, 1, 1, 1], "SAME")
    most, least = tf.reduce_max(wide, (1, 2), keepdims=True), tf.reduce_min(wide, 3, keepdims=True)
    return (
        tf.nn.relu(wide - 0.3 * most),
        weights(1, 5, 1, 4) - wide,
        tf.maximum(wide, least + 0.2),
        tf.minimum(most, wide),
        tf.reduce_max(wide, (1, 3)),
        tf.reduce_min(wide, (1, 2, 3)),
    )


def recurrent(tf: Any, x: Any) -> Any:
    """Classify with a GRU and an LSTM, unrolled as `unroll=True` does it."""
    rows, state = tf.unstack(tf.reshape(x, (1, 2, 6)), axis=1), None
    for row in rows:
        gates = row @ weights(6, 12) + weights(12) + (0.0 if state is None else state @ weights(4, 12))
        update, reset, new = tf.split(gates, 3, 1)
        new = tf.tanh(new * tf.sigmoid(reset))
        state = new if state is None else tf.sigmoid(update) * state + (1.0 - tf.sigmoid(update)) * new
    cell, hidden = tf.tanh(state @ weights(4, 5)), tf.sigmoid(state @ weights(4, 5))
    for row in rows:
        i, f, g, o = tf.split(row @ weights(6, 20) + hidden @ weights(5, 20), 4, 1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        hidden = tf.sigmoid(o) * tf.tanh(cell)
    return tf.nn.softmax(5 * hidden @ weights(5, 3))


class Stream:
    """The rows that a streaming network saw last: variables, which a model fills before its first run."""

    def __init__(self, tf: Any) -> None:
        self.module = tf.Module()
        self.module.near = tf.Variable(tf.zeros((1, 3, 1, 3)))
        self.module.far = tf.Variable(tf.zeros((1, 4, 1, 5)))


def stream(tf: Any, x: Any, state: Stream) -> Any:
    """Classify a stream: convolutions over rows of this run and of those before."""
    rows = tf.concat((state.module.near, x), 1)
    state.module.near.assign(rows[:, -3:])
    x = tf.nn.relu(tf.nn.conv2d(rows, weights(4, 1, 3, 5), [1, 1, 1, 1], "VALID"))
    before = state.module.far.read_value()
    state.module.far.assign(tf.concat((before, x), 1)[:, -4:])
    # Read before the state changed, used after.
    x = tf.nn.depthwise_conv2d(tf.concat((before, x), 1), weights(6, 1, 5, 1), [1, 1, 1, 1], "VALID")
    return tf.nn.sigmoid(3 * tf.reshape(x, (1, 5)) @ weights(5, 1))


def net(tf: Any, x: Any) -> Any:
    """Classify by a small residual network, which our own graph can express."""
    x = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 8), [1, 2, 2, 1], "SAME") + 0.1 * weights(8))
    y = tf.nn.relu(tf.nn.depthwise_conv2d(x, weights(3, 3, 8, 1), [1, 1, 1, 1], "SAME") + 0.1 * weights(8))
    y = tf.nn.conv2d(y, weights(1, 1, 8, 8), [1, 1, 1, 1], "SAME") + 0.1 * weights(8)
    x = tf.reshape(tf.reduce_mean(tf.nn.relu(x + y), (1, 2), keepdims=True), (1, 8))
    return tf.nn.softmax(4 * x @ weights(8, 5) + weights(5))


MODELS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "conv": (conv, (1, 9, 8, 3)),
    "depthwise": (depthwise, (1, 9, 8, 3)),
    "dense": (dense, (1, 4, 4, 3)),
    "sums": (sums, (1, 5, 5, 3)),
    "pools": (pools, (1, 6, 7, 4)),
    "shapes": (shapes, (1, 4, 4, 3)),
    "curves": (curves, (1, 4, 4, 3)),
    "more_curves": (more_curves, (1, 4, 4, 3)),
    "moves": (moves, (1, 4, 6, 3)),
    "extremes": (extremes, (1, 5, 5, 3)),
    "recurrent": (recurrent, (1, 2, 2, 3)),
    "stream": (stream, (1, 2, 1, 3)),
    "net": (net, (1, 8, 8, 3)),
}


def make_models(folder: Path, names: list[str]) -> None:
    """Convert every network of this file, or some."""
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        network, shape = MODELS[name]
        spec = tf.TensorSpec(shape, tf.float32, name="x")
        kept = (Stream(tf),) if network is stream else ()
        module = kept[0].module if kept else tf.Module()
        function = tf.function(
            lambda x, network=network, kept=kept: network(tf, x, *kept), input_signature=[spec]
        )
        random = np.random.default_rng(1)
        examples = [random.normal(0.3, 1, shape).astype(np.float32) for _ in range(20)]
        made = [function.get_concrete_function()]
        converter = tf.lite.TFLiteConverter.from_concrete_functions(made, module)
        converter.experimental_enable_resource_variables = bool(kept)
        converter._experimental_variable_quantization = bool(kept)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda examples=examples: ([x] for x in examples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        content = converter.convert()
        if name in ("shapes", "moves"):
            content = changed(content, name)
        (folder / f"{name}.tflite").write_bytes(content)
        print(name, len(content))


def changed(content: bytes, name: str) -> bytes:
    """Return a model whose last RESHAPE is a SQUEEZE, which the converter writes no more.

    Or one whose operators have the version that LiteRT's reference kernels know.
    """
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    if name == "shapes":
        step = model.subgraphs[0].operators[-1]
        code = schema.OperatorCodeT()
        code.deprecatedBuiltinCode = code.builtinCode = schema.BuiltinOperator.SQUEEZE
        model.operatorCodes.append(code)
        step.opcodeIndex = len(model.operatorCodes) - 1
        step.inputs = step.inputs[:1]
        step.builtinOptionsType = schema.BuiltinOptions.SqueezeOptions
        step.builtinOptions = schema.SqueezeOptionsT()
        step.builtinOptions.squeezeDims = [1]
    for code in model.operatorCodes:
        if code.builtinCode in (schema.BuiltinOperator.TILE, schema.BuiltinOperator.DEPTH_TO_SPACE):
            code.version = 1
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def answers(
    content: bytes, inputs: list[Any], inside: Any = None, wanted: set[int] | None = None
) -> list[dict[int, Any]]:
    """Return every tensor that LiteRT's reference kernels compute, by number, for each input.

    A model that takes floats or uint8 gets what becomes the int8 values of the tensor `inside`.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    steps = [step for step in interpreter._get_ops_details() if step["op_name"] != "VAR_HANDLE"]
    made = wanted or {number for step in steps for number in step["outputs"]}
    found = []
    for x in inputs:
        if given["dtype"] is np.float32:
            x = ((x.astype(np.float64) - inside.zero) * float(inside.scale)).astype(np.float32)
        elif given["dtype"] is np.uint8:
            x = (x.astype(np.int64) + 128).astype(np.uint8)
        interpreter.set_tensor(given["index"], x)
        interpreter.invoke()
        found.append({number: interpreter.get_tensor(number) for number in sorted(made)})
    return found


def random_inputs(shape: tuple[int, ...], count: int) -> list[Any]:
    """Return int8 inputs of many kinds: any byte, few distinct bytes, only the extremes, a gentle slope."""
    random = np.random.default_rng(3)
    kinds = [
        lambda: random.integers(-128, 128, shape),
        lambda: np.clip(random.normal(random.integers(-100, 100), 30, shape), -128, 127),
        lambda: random.choice([-128, 127], shape),
        lambda: np.linspace(*random.integers(-128, 128, 2), int(np.prod(shape))).reshape(shape),
    ]
    return [kinds[at % len(kinds)]().astype(np.int8) for at in range(count)]


def digest(tensor: Any) -> str:
    """Return what is stored of a tensor."""
    return hashlib.sha256(tensor.tobytes()).hexdigest()[:16]


def make_answers(folder: Path) -> None:
    """Run every model of the folder on one input and store digests of all tensors, a line a model."""
    lines = []
    for name, (_, shape) in MODELS.items():
        content = (folder / f"{name}.tflite").read_bytes()
        (found,) = answers(content, random_inputs(shape, 1))
        digests = {str(number): digest(value) for number, value in found.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(digests)}")
    (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("models", "answers"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if args.what == "models":
        make_models(FOLDER, args.names)
    else:
        make_answers(FOLDER)


if __name__ == "__main__":
    main()
