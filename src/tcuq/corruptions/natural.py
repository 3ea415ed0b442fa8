"""Severity constants of natural pictures: CIFAR-10-C, TinyImageNet-C and ImageNet-C."""

from __future__ import annotations

from .suite import Suite

CIFAR10_C = Suite("cifar10_c", "CIFAR-10-C: 19 kinds, 5 severities, for 32 x 32 pictures", "pictures", {}, ())
TINYIMAGENET_C = Suite("tinyimagenet_c", "TinyImageNet-C: for 64 x 64 pictures", "pictures", {}, ())
IMAGENET_C = Suite("imagenet_c", "ImageNet-C: for 224 x 224 pictures", "pictures", {}, ())
