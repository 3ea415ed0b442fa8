"""The whole job on real pictures that come with it: train, stream, fit, watch, report."""

from __future__ import annotations

from .clothes import DEV_CORRUPTIONS, TEST_CORRUPTIONS, Classifier, make_log, train
from .main import main

__all__ = ["DEV_CORRUPTIONS", "TEST_CORRUPTIONS", "Classifier", "main", "make_log", "train"]
