"""The kinds of MNIST-C, each at its one published severity (N. Mu and J. Gilmer, 2019)."""

from __future__ import annotations

from .suite import Kind, Suite

MNIST_C = Suite(
    name="mnist_c",
    about="MNIST-C: 15 corruption types and identity, one severity",
    media="pictures",
    kinds={
        "identity": Kind("strokes", "identity", (None,)),
        "shot_noise": Kind("noise", "shot_noise", (3,)),
        "impulse_noise": Kind("noise", "impulse_noise", (0.17,)),
        "glass_blur": Kind("gray", "glass_blur", ((0.7, 1, 2),)),
        "motion_blur": Kind("blur", "motion_blur", ((10, 3),)),
        "shear": Kind("geometry", "shear", (0.4,)),
        "scale": Kind("geometry", "scale", (0.7,)),
        "rotate": Kind("geometry", "rotate", (0.4,)),
        "brightness": Kind("weather", "brightness", (0.5,)),
        "translate": Kind("geometry", "translate", (3,)),
        "stripe": Kind("strokes", "stripe", (0.25,)),
        "fog": Kind("gray", "fog", ((3, 1.4),)),
        "spatter": Kind("gray", "spatter", ((0.65, 0.3, 1, 0.65, 1.5, "mud"),)),
        "dotted_line": Kind("strokes", "dotted_line", ((2, 2.3),)),
        "zigzag": Kind("strokes", "zigzag", ((2.0, 2.0, 2, 5, 2.3),)),
        "canny_edges": Kind("edges", "canny_edges", ((1.0, 0.1, 0.2),)),
    },
    seen=("shot_noise", "glass_blur", "shear", "dotted_line", "stripe"),
)
