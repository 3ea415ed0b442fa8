"""Random int8 TFLite models: our kernels on this computer against LiteRT's reference kernels.

Needs tensorflow to make models, and ai-edge-litert with a C compiler to compare, each in an environment of
its own if need be::

    python tools/fuzz_tflite.py make FOLDER --count 300 --seed 0
    python tools/fuzz_tflite.py compare FOLDER --inputs 8    # of any models, in folders below too
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 4000
"""Values of a tensor."""


class Drawn:
    """A random network: layers that are added to tensors of pictures."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf, self.seed = tf, seed
        self.draw = np.random.default_rng(seed)

    def weights(self, *shape: int) -> Any:
        """Return weights whose sums have about the size of the input, in channels of different sizes."""
        values = self.draw.normal(0, 1 / np.sqrt(np.prod(shape[:-1])), shape)
        return (values * np.exp(self.draw.normal(0, 0.7, shape[-1:]))).astype(np.float32)

    def few(self, most: int, least: int = 1) -> int:
        """Return a small number."""
        return int(self.draw.integers(least, most + 1))

    def activated(self, x: Any) -> Any:
        """Return a tensor, perhaps rectified."""
        nn = self.tf.nn
        kind = self.few(5)
        return nn.relu(x) if kind == 1 else nn.relu6(4 * x) if kind == 2 else x

    def biased(self, x: Any) -> Any:
        """Return a tensor with a bias, or without."""
        return x + self.weights(x.shape[-1]) if self.draw.random() < 0.7 else x

    def window(self, x: Any) -> tuple[int, int, str]:
        """Return a kernel that fits, and its padding."""
        rows, columns = (min(self.few(4), int(side)) for side in x.shape[1:3])
        return rows, columns, str(self.draw.choice(["SAME", "VALID"]))

    def conv(self, x: Any) -> Any:
        """Convolve."""
        rows, columns, padding = self.window(x)
        strides, dilations = [1, self.few(3), self.few(2), 1], [1, 1, 1, 1]
        if self.draw.random() < 0.2 and padding == "SAME":
            strides, dilations = [1, 1, 1, 1], [1, self.few(2), self.few(3), 1]
        kernel = self.weights(rows, columns, x.shape[-1], self.few(12))
        return self.activated(
            self.biased(self.tf.nn.conv2d(x, kernel, strides, padding, dilations=dilations))
        )

    def depthwise(self, x: Any) -> Any:
        """Convolve every channel by itself."""
        rows, columns, padding = self.window(x)
        by = self.few(2)
        strides, dilations = [1, by, self.few(2), 1], [1, 1]
        if self.draw.random() < 0.2:
            strides, dilations, padding = [1, 1, 1, 1], [self.few(2), self.few(2)], "SAME"
        most = 3 if x.shape[-1] < 5 and self.draw.random() < 0.3 else 1
        kernel = self.weights(rows, columns, x.shape[-1], self.few(most))
        made = self.tf.nn.depthwise_conv2d(x, kernel, strides, padding, dilations=dilations)
        return self.activated(self.biased(made))

    def pool(self, x: Any) -> Any:
        """Take means or the largest values."""
        rows, columns, padding = self.window(x)
        pools = (self.tf.nn.avg_pool2d, self.tf.nn.max_pool2d)
        made = pools[self.few(2) - 1](x, (rows, columns), (self.few(2), self.few(3)), padding)
        return self.activated(made)

    def joined(self, x: Any) -> Any:
        """Add or multiply tensors of fitting shapes, or put them beside each other."""
        tf = self.tf
        others = [
            lambda: tf.nn.conv2d(x, self.weights(1, 1, x.shape[-1], x.shape[-1]), [1] * 4, "SAME"),
            lambda: tf.reduce_mean(x, (1, 2), keepdims=True),
            lambda: tf.reduce_mean(x, (3,), keepdims=True),
            lambda: self.weights(*(int(side) if self.draw.random() < 0.5 else 1 for side in x.shape[1:])),
            lambda: tf.nn.sigmoid(x),
            lambda: x,
        ]
        other = others[self.few(len(others)) - 1]()
        kind = self.few(3)
        if kind == 3 and other is not x and tuple(other.shape) == tuple(x.shape):
            return tf.concat((x, other), self.few(3))
        pair = (x, other) if self.draw.random() < 0.5 else (other, x)
        return self.activated(pair[0] + pair[1] if kind == 1 else pair[0] * pair[1])

    def moved(self, x: Any) -> Any:
        """Change the shape, or values one by one."""
        tf = self.tf
        batch, height, width, channels = (int(side) for side in x.shape)
        kind = self.few(11)
        if kind == 6:
            return tf.transpose(x, (0, *(1 + self.draw.permutation(3))))
        if kind == 7:
            begin, step = self.few(2, 0), int(self.draw.choice([1, 2, -1]))
            return x[:, begin::step] if begin < height else x
        if kind == 8 and channels % 2 == 0:
            left, right = tf.split(x, 2, 3)
            return tf.concat((right, left), self.few(3))
        if kind == 9:
            curves = (tf.tanh, tf.nn.leaky_relu, tf.nn.gelu, tf.abs, lambda x: x * tf.nn.relu6(x + 3) / 6)
            return curves[self.few(len(curves)) - 1](2 * x)
        if kind == 10:
            return tf.repeat(tf.repeat(x, 2, 1), 2, 2) if self.few(2) == 1 else tf.reverse(x, (self.few(3),))
        if kind == 11:
            axes = [[1], [2], [3], [1, 2]][self.few(4) - 1]
            reduce = tf.reduce_max if self.few(2) == 1 else tf.reduce_min
            return tf.maximum(x - reduce(x, axes, keepdims=True), 0.5 * x)
        if kind == 1:
            sides = [(0, 0), *((self.few(2, 0), self.few(2, 0)) for _ in range(2)), (0, self.few(1, 0))]
            return tf.pad(x, sides)
        if kind == 2:
            return tf.reshape(x, (batch, width, height, channels))
        if kind == 3:
            return tf.nn.sigmoid(3 * x)
        if kind == 4:
            return tf.nn.softmax(4 * x)
        return tf.nn.relu(tf.pad(x, ((0, 0), (0, 1), (1, 0), (0, 0))))

    def network(self, x: Any) -> Any:
        """Return the outputs."""
        tf = self.tf
        # The same network whenever it is traced.
        self.draw = np.random.default_rng(self.seed)
        kinds = (self.conv, self.conv, self.depthwise, self.pool, self.joined, self.joined, self.moved)
        for _ in range(self.few(7, 2)):
            made = kinds[self.few(len(kinds)) - 1](x)
            x = made if np.prod(made.shape) <= LARGEST else x
        ends = self.few(4)
        if ends == 1:
            return x
        flat = tf.reduce_mean(x, (1, 2)) if ends == 2 else tf.reshape(x, (1, -1))
        for _ in range(self.few(2)):
            flat = self.activated(self.biased(flat @ self.weights(flat.shape[-1], self.few(12))))
        kind = self.few(3)
        return tf.nn.softmax(3 * flat) if kind == 1 else tf.nn.sigmoid(flat) if kind == 2 else flat


def make(folder: Path, count: int, seed: int) -> None:
    """Write models; a network that the converter refuses is left out."""
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        path = folder / f"{number}.tflite"
        if path.exists():
            continue
        drawn = Drawn(tf, number)
        shape = (1, drawn.few(12, 3), drawn.few(12, 3), drawn.few(9))
        spec = tf.TensorSpec(shape, tf.float32, name="x")
        examples = [drawn.draw.normal(0.3, 1, shape).astype(np.float32) for _ in range(8)]
        try:
            function = tf.function(drawn.network, input_signature=[spec]).get_concrete_function()
            converter = tf.lite.TFLiteConverter.from_concrete_functions([function], tf.Module())
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda examples=examples: ([x] for x in examples)
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tf.int8
            path.write_bytes(converter.convert())
        except Exception as error:
            print(f"{number}: not converted: {str(error).splitlines()[:1]}", flush=True)


def compared(path: Path, inputs: int) -> tuple[str, str]:
    """Run one model both ways, its inputs one after the other; return what came of it and a line about it."""
    from make_tflite_models import answers, random_inputs
    from tflite_reference import evaluate, first_states

    from tcuq_device.generate.arena import roots
    from tcuq_device.graph import oracle
    from tcuq_device.kernels.host import Network
    from tcuq_device.tflite.convert import graph_of
    from tcuq_device.tflite.read import read_model

    content = path.read_bytes()
    try:
        model = read_model(content, path.name)
        graph = graph_of(model)
    except ValueError as error:
        return "refused", str(error)
    made = sorted({number for operator in model.operators for number in operator.outputs})
    given, kind = model.tensors[model.inputs[0]], "equal"
    # Views of a state have other values after the run.
    lasting = {f"made_{name}": name for name, root in roots(graph).items() if root not in graph.states}
    every, only = Network(replace(graph, outputs=lasting)), Network(graph)
    drawn, bad = random_inputs(given.shape, inputs), set()
    # A stream is one piece; else pieces take less memory.
    size = inputs if graph.states else 10
    for part in (drawn[at : at + size] for at in range(0, inputs, size)):
        try:
            wanted = answers(content, part, given, set(made))
        except ValueError:
            kind, states = "equal to the reference in numpy; LiteRT does not read it", first_states(model)
            wanted = [evaluate(model, [each], states) for each in part]
        x = np.stack([each.reshape(graph.tensors[graph.input].shape) for each in part])
        found, own, last = every.run(x), oracle.run(graph, x, every=True), only.run(x)
        bad |= {name for use, name in graph.outputs.items() if not np.array_equal(last[use], own[name])}
        for number in made:
            name = f"t{number}"
            right = np.stack([each[number].reshape(graph.tensors[name].shape) for each in wanted])
            in_c = found.get(f"made_{name}", right)
            if not (np.array_equal(in_c, right) and np.array_equal(own[name], right)):
                bad.add(name)
    return ("differ", ", ".join(sorted(bad))) if bad else (kind, f"{len(made)} tensors")


def compare(folder: Path, inputs: int) -> int:
    """Compare all models below a folder, print a line for each; return how many differ."""
    counts: dict[str, int] = {}
    for path in sorted(folder.rglob("*.tflite")):
        kind, said = compared(path, inputs)
        counts[kind] = counts.get(kind, 0) + 1
        print(f"{kind:<8} {path.relative_to(folder)}: {said}", flush=True)
    print(f"{inputs} inputs each: {', '.join(f'{count} {kind}' for kind, count in counts.items())}")
    return counts.get("differ", 0)


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=8)
    args = parser.parse_args()
    if args.what == "make":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        make(args.folder, args.count, args.seed)
        return 0
    return int(compare(args.folder, args.inputs) > 0)


if __name__ == "__main__":
    sys.exit(main())
