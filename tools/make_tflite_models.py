"""Make the small int8 models of device/tests/data, and what LiteRT's reference kernels answer.

Needs tensorflow and ai-edge-litert, each in an environment of its own if need be::

    python tools/make_tflite_models.py models    # tensorflow: writes *.tflite
    python tools/make_tflite_models.py answers   # ai-edge-litert: writes answers.npz from *.tflite
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "device" / "tests" / "data"
INPUTS = 1
"""Random inputs a model whose answers are stored."""


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


def net(tf: Any, x: Any) -> Any:
    """Classify by a small residual network, which our own graph can express."""
    x = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 8), [1, 2, 2, 1], "SAME") + 0.1 * weights(8))
    y = tf.nn.relu(tf.nn.depthwise_conv2d(x, weights(3, 3, 8, 1), [1, 1, 1, 1], "SAME") + 0.1 * weights(8))
    y = tf.nn.conv2d(y, weights(1, 1, 8, 8), [1, 1, 1, 1], "SAME") + 0.1 * weights(8)
    x = tf.reshape(tf.reduce_mean(tf.nn.relu(x + y), (1, 2), keepdims=True), (1, 8))
    return tf.nn.softmax(4 * x @ weights(8, 5) + weights(5))


MODELS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "conv": (conv, (1, 9, 8, 3)),
    "depthwise": (depthwise, (1, 9, 8, 3)),
    "dense": (dense, (1, 4, 4, 3)),
    "sums": (sums, (1, 5, 5, 3)),
    "pools": (pools, (1, 6, 7, 4)),
    "shapes": (shapes, (1, 4, 4, 3)),
    "curves": (curves, (1, 4, 4, 3)),
    "net": (net, (1, 8, 8, 3)),
}


def make_models(folder: Path) -> None:
    """Convert every network of this file."""
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    for name, (network, shape) in MODELS.items():
        spec = tf.TensorSpec(shape, tf.float32, name="x")
        function = tf.function(lambda x, network=network: network(tf, x), input_signature=[spec])
        random = np.random.default_rng(1)
        examples = [random.normal(0.3, 1, shape).astype(np.float32) for _ in range(20)]
        made = [function.get_concrete_function()]
        converter = tf.lite.TFLiteConverter.from_concrete_functions(made, tf.Module())
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda examples=examples: ([x] for x in examples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        content = converter.convert()
        if name == "shapes":
            content = squeezed(content)
        (folder / f"{name}.tflite").write_bytes(content)
        print(name, len(content))


def squeezed(content: bytes) -> bytes:
    """Return a model whose last RESHAPE is a SQUEEZE, which the converter writes no more."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    step = model.subgraphs[0].operators[-1]
    code = schema.OperatorCodeT()
    code.deprecatedBuiltinCode = code.builtinCode = schema.BuiltinOperator.SQUEEZE
    code.version = 1
    model.operatorCodes.append(code)
    step.opcodeIndex = len(model.operatorCodes) - 1
    step.inputs = step.inputs[:1]
    step.builtinOptionsType = schema.BuiltinOptions.SqueezeOptions
    step.builtinOptions = schema.SqueezeOptionsT()
    step.builtinOptions.squeezeDims = [1]
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def answers(content: bytes, inputs: list[Any]) -> list[dict[int, Any]]:
    """Return every tensor that LiteRT's reference kernels compute, by number, for each input."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]["index"]
    made = sorted({number for step in interpreter._get_ops_details() for number in step["outputs"]})
    found = []
    for x in inputs:
        interpreter.set_tensor(given, x)
        interpreter.invoke()
        found.append({number: interpreter.get_tensor(number) for number in made})
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


def make_answers(folder: Path) -> None:
    """Run every model of the folder and store all tensors."""
    stored = {}
    for name, (_, shape) in MODELS.items():
        content = (folder / f"{name}.tflite").read_bytes()
        for at, found in enumerate(answers(content, random_inputs(shape, INPUTS))):
            stored.update({f"{name}.{at}.{number}": value for number, value in found.items()})
    np.savez_compressed(folder / "answers.npz", **stored)
    print("answers", (folder / "answers.npz").stat().st_size)


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("models", "answers"))
    {"models": make_models, "answers": make_answers}[parser.parse_args().what](FOLDER)


if __name__ == "__main__":
    main()
