"""The old place of `LabelSampler`, for objects that version 0.3 pickled; it goes with the next release."""

from ..labels.sampler import LabelSampler as Questions

__all__ = ["Questions"]
