"""All suites of corruptions by name; lists need numpy alone."""

from __future__ import annotations

from typing import Any

from tcuq.base.checks import known

from ..data import splits
from .motion import MOTION_C
from .suite import Kind, Suite
from .text import TEXT_C

SEEN = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
"""The four kinds that the authors of the benchmark set aside for validation."""

# Settings of the natural pictures are those that D. Hendrycks and T. Dietterich published with "Benchmarking
# Neural Network Robustness to Common Corruptions and Perturbations" (2019), but for `elastic_transform` of
# ImageNet-C: there they are those of the package imagecorruptions, which leaves out the affine part and has
# other waves. Lengths of `elastic_transform` are shares of the side of a picture; all others are pixels.
_HOMES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness", "spatter"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression", "saturate"),
}


def _suite(name: str, about: str, settings: dict[str, tuple[Any, ...]]) -> Suite:
    homes = {kind: home for home, kinds in _HOMES.items() for kind in kinds}
    kinds = {kind: Kind(homes[kind], kind, each) for kind, each in settings.items()}
    return Suite(name, about, "pictures", kinds, SEEN)


CIFAR10_C = _suite(
    "cifar10_c",
    "CIFAR-10-C: 19 corruption types, 5 severities, for 32 x 32 pictures",
    {
        "gaussian_noise": (0.04, 0.06, 0.08, 0.09, 0.10),
        "shot_noise": (500, 250, 100, 75, 50),
        "impulse_noise": (0.01, 0.02, 0.03, 0.05, 0.07),
        "speckle_noise": (0.06, 0.10, 0.12, 0.16, 0.20),
        "gaussian_blur": (0.4, 0.6, 0.7, 0.8, 1.0),
        "defocus_blur": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
        "glass_blur": ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
        "motion_blur": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
        "zoom_blur": ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
        "snow": (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
        "frost": ((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)),
        "fog": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
        "brightness": (0.05, 0.1, 0.15, 0.2, 0.3),
        "contrast": (0.75, 0.5, 0.4, 0.3, 0.15),
        "elastic_transform": (
            (0, 0, 0.08),
            (0.05, 0.2, 0.07),
            (0.08, 0.06, 0.06),
            (0.1, 0.04, 0.05),
            (0.1, 0.03, 0.03),
        ),
        "pixelate": (0.95, 0.9, 0.85, 0.75, 0.65),
        "jpeg_compression": (80, 65, 58, 50, 40),
        "spatter": (
            (0.62, 0.1, 0.7, 0.7, 0.5, "water"),
            (0.65, 0.1, 0.8, 0.7, 0.5, "water"),
            (0.65, 0.3, 1, 0.69, 0.5, "water"),
            (0.65, 0.1, 0.7, 0.69, 0.6, "mud"),
            (0.65, 0.1, 0.5, 0.68, 0.6, "mud"),
        ),
        "saturate": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    },
)

TINYIMAGENET_C = _suite(
    "tinyimagenet_c",
    "TinyImageNet-C: 19 corruption types, 5 severities, for 64 x 64 pictures",
    {
        "gaussian_noise": (0.04, 0.08, 0.12, 0.15, 0.18),
        "shot_noise": (250, 100, 50, 30, 15),
        "impulse_noise": (0.01, 0.02, 0.05, 0.08, 0.14),
        "speckle_noise": (0.15, 0.2, 0.25, 0.3, 0.35),
        "gaussian_blur": (0.5, 0.75, 1, 1.25, 1.5),
        "defocus_blur": ((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
        "glass_blur": ((0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)),
        "motion_blur": ((10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)),
        "zoom_blur": ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
        "snow": (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
        ),
        "frost": ((1, 0.3, 0.3), (0.9, 0.4, 0.3), (0.8, 0.45, 0.3), (0.75, 0.5, 0.3), (0.7, 0.55, 0.3)),
        "fog": ((0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)),
        "brightness": (0.1, 0.2, 0.3, 0.4, 0.5),
        "contrast": (0.4, 0.3, 0.2, 0.1, 0.05),
        "elastic_transform": (
            (0, 0, 0.08),
            (0.05, 0.3, 0.06),
            (0.1, 0.08, 0.06),
            (0.1, 0.03, 0.03),
            (0.16, 0.03, 0.02),
        ),
        "pixelate": (0.9, 0.8, 0.7, 0.6, 0.5),
        "jpeg_compression": (65, 58, 50, 40, 25),
        "spatter": (
            (0.62, 0.1, 0.7, 0.7, 0.6, "water"),
            (0.65, 0.1, 0.8, 0.7, 0.6, "water"),
            (0.65, 0.3, 1, 0.69, 0.6, "water"),
            (0.65, 0.1, 0.7, 0.68, 0.6, "mud"),
            (0.65, 0.1, 0.5, 0.67, 0.6, "mud"),
        ),
        "saturate": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
    },
)

IMAGENET_C = _suite(
    "imagenet_c",
    "ImageNet-C: 19 corruption types, 5 severities, for 224 x 224 pictures",
    {
        "gaussian_noise": (0.08, 0.12, 0.18, 0.26, 0.38),
        "shot_noise": (60, 25, 12, 5, 3),
        "impulse_noise": (0.03, 0.06, 0.09, 0.17, 0.27),
        "speckle_noise": (0.15, 0.2, 0.35, 0.45, 0.6),
        "gaussian_blur": (1, 2, 3, 4, 6),
        "defocus_blur": ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        "glass_blur": ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        "motion_blur": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        "zoom_blur": ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
        "snow": (
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ),
        "frost": ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
        "fog": ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
        "brightness": (0.1, 0.2, 0.3, 0.4, 0.5),
        "contrast": (0.4, 0.3, 0.2, 0.1, 0.05),
        # As imagecorruptions has it: 250 * 0.005 of the side, times 0.05 to 0.12, and no affine part.
        "elastic_transform": (
            (0.0625, 0.01, 0),
            (0.08125, 0.01, 0),
            (0.10625, 0.01, 0),
            (0.125, 0.01, 0),
            (0.15, 0.01, 0),
        ),
        "pixelate": (0.6, 0.5, 0.4, 0.3, 0.25),
        "jpeg_compression": (25, 18, 15, 10, 7),
        "spatter": (
            (0.65, 0.3, 4, 0.69, 0.6, "water"),
            (0.65, 0.3, 3, 0.68, 0.6, "water"),
            (0.65, 0.3, 2, 0.68, 0.5, "water"),
            (0.65, 0.3, 1, 0.65, 1.5, "mud"),
            (0.67, 0.4, 1, 0.65, 1.5, "mud"),
        ),
        "saturate": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    },
)


# Each at its one published severity (N. Mu and J. Gilmer, 2019).
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
        "canny_edges": Kind("strokes", "canny_edges", ((1.0, 0.1, 0.2),)),
    },
    seen=("shot_noise", "glass_blur", "shear", "dotted_line", "stripe"),
)


def _sound_kinds() -> dict[str, Kind]:
    """Return twelve kinds that the paper takes from audiomentations, and three of our own.

    The severities of all are our own. Each setting is stronger than the one before; a clip meets the same
    random numbers at all of them.
    """
    library: dict[str, tuple[float, ...]] = {
        "gaussian_noise": (20.0, 15.0, 10.0, 5.0, 0.0),  # signal to noise, dB
        "air_absorption": (100.0, 250.0, 500.0, 1000.0, 2000.0),  # meters
        "band_pass_filter": (1.8, 1.4, 1.0, 0.7, 0.4),  # width of the band to its center
        "band_stop_filter": (0.2, 0.35, 0.5, 0.7, 1.0),  # width of the band to its center
        "high_pass_filter": (200.0, 400.0, 700.0, 1100.0, 1600.0),  # Hz
        "high_shelf_filter": (8.0, 14.0, 20.0, 26.0, 32.0),  # dB up or down
        "low_pass_filter": (3000.0, 2100.0, 1500.0, 1000.0, 650.0),  # Hz
        "low_shelf_filter": (8.0, 14.0, 20.0, 26.0, 32.0),  # dB up or down
        "peaking_filter": (6.0, 11.0, 16.0, 22.0, 28.0),  # dB up or down
        "tanh_distortion": (0.05, 0.1, 0.2, 0.35, 0.6),  # share of samples bent
        "time_mask": (0.04, 0.08, 0.12, 0.16, 0.20),  # of each second; more leaves nothing of short words
        "time_stretch": (1.15, 1.3, 1.45, 1.6, 1.8),  # faster or slower by this factor
    }
    kinds = {name: Kind("sound", name, settings) for name, settings in library.items()}
    kinds["background_noise"] = Kind("sound", "background_noise", (20.0, 15.0, 10.0, 5.0, 0.0))  # dB
    # Seconds of reverberation, and direct sound to echoes in dB.
    rooms = ((0.2, 8.0), (0.35, 4.0), (0.55, 1.0), (0.8, -2.0), (1.2, -5.0))
    kinds["room_reverb"] = Kind("sound", "room_reverb", rooms)
    kinds["pitch_shift"] = Kind("sound", "pitch_shift", (1.0, 2.0, 3.0, 4.5, 6.0))  # semitones
    return kinds


SPEECH_C = Suite(
    name="speech_c",
    about="Speech Commands: 15 corruption types, 5 severities, before the front end",
    media="sound",
    kinds=_sound_kinds(),
    seen=("gaussian_noise", "low_pass_filter", "time_mask", "background_noise"),
)


_SUITES = {
    each.name: each for each in (MNIST_C, CIFAR10_C, TINYIMAGENET_C, IMAGENET_C, SPEECH_C, TEXT_C, MOTION_C)
}

_OF_DATA = {
    "mnist": "mnist_c",
    "mnist_pairs": "mnist_c",
    "cifar10": "cifar10_c",
    "cifar10_animals": "cifar10_c",
    "tinyimagenet": "tinyimagenet_c",
    "tinyimagenet20": "tinyimagenet_c",
    "speech_commands": "speech_c",
    "speech_commands_v2": "speech_c",
    "text": "text_c",
    "signs": "cifar10_c",
    "motion": "motion_c",
}


def suites() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(_SUITES)


def suite(name: str) -> Suite:
    """Return a suite by its name."""
    return _SUITES[known("suite", name, _SUITES)]


def suite_of(name: str) -> Suite:
    """Return the suite that belongs to a dataset."""
    if name not in _OF_DATA:
        splits(name)  # a dataset that is unknown altogether is named with its nearest
        raise ValueError(f"dataset {name!r} has no corruptions, expected one of {', '.join(_OF_DATA)}")
    return suite(_OF_DATA[name])
