"""Write the tiny TFLite models of tests/record/models; needs tensorflow, which nothing else here does.

A picture of 8 x 8 pixels shows a bright bar at the left, in the middle or at the right. Run it as
``python tools/make_tiny_tflite.py tests/record/models``. The bytes depend on the version of TensorFlow.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-not-found,unused-ignore]


def bars(count: int, seed: int) -> tuple[Any, Any]:
    """Return pictures (count, 8, 8, 1) in [0, 1] and where their bar is: 0, 1 or 2."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    pictures = rng.uniform(0, 0.6, (count, 8, 8, 1))
    for picture, label in zip(pictures, labels, strict=True):
        picture[:, 3 * label : 3 * label + 2] += 0.4
    return pictures.astype(np.float32), labels


def network(last: int, activation: str | None) -> Any:
    """Return a network with one convolution, a hidden layer of 8 units and `last` outputs."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1), batch_size=1),
            layers.Conv2D(4, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(8, activation="relu"),
            layers.Dense(last, activation=activation),
        ]
    )


def trained(last: int, activation: str | None) -> Any:
    """Return the network after some epochs."""
    tf.keras.utils.set_random_seed(0)
    model = network(last, activation)
    x, y = bars(1500, 0)
    losses = tf.keras.losses
    loss = losses.SparseCategoricalCrossentropy(from_logits=activation is None)
    if last == 1:
        loss, y = losses.BinaryCrossentropy(), (y == 2).astype(np.float32)
    model.compile("adam", loss)
    model.fit(x, y, batch_size=1, epochs=2, verbose=0)
    return model


def converted(model: Any, quantized: bool) -> bytes:
    """Return the model as TFLite, all of it int8 where asked for."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if quantized:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([each[None]] for each in bars(100, 1)[0])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def main(folder: Path) -> None:
    """Write the models."""
    softmax = trained(3, "softmax")
    (folder / "int8.tflite").write_bytes(converted(softmax, True))
    (folder / "float.tflite").write_bytes(converted(softmax, False))
    (folder / "logits.tflite").write_bytes(converted(trained(3, None), True))
    (folder / "sigmoid.tflite").write_bytes(converted(trained(1, "sigmoid"), True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
