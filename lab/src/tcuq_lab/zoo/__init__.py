"""Backbones, their training and their outputs; needs PyTorch (the extra `zoo`)."""
