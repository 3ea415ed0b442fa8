"""Trained weights as one npz file: half precision, no pickle, with all that is known of the training."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tcuq.base.atomic_files import write_whole

from .backbones import backbone
from .examples import form_of
from .heads import recipe
from .outputs import core

FORMAT = "tcuq-weights"
DAMAGED = (ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)
RENAMED = {"flows.centre": "flows.center"}
"""Tensors that have another name in files than in the network; stored checkpoints keep their bytes."""


def round_weights(network: nn.Module) -> None:
    """Round the weights to half precision, in which they are stored.

    What is measured afterwards is what a reader of the file gets. Norm statistics, biases and input
    scales stay as they are: they reach beyond half precision, and are few.
    """
    rounded = {name: _halved(name, value) for name, value in network.state_dict().items() if value.ndim > 1}
    for name, half in rounded.items():
        network.state_dict()[name].copy_(half)


def _halved(name: str, value: torch.Tensor) -> torch.Tensor:
    """Return a tensor in half precision, or say that it does not fit."""
    half = value.detach().half()
    bad = value[~half.isfinite()]
    if len(bad):
        raise ValueError(f"{name} holds {float(bad[0]):g}; -65504 to 65504 fits half precision")
    return half


def save_weights(path: str | Path, network: nn.Module, card: dict[str, Any]) -> None:
    """Write weights and their card; nothing is left half-written."""
    arrays: dict[str, Any] = {}
    for name, value in network.state_dict().items():
        kept = _halved(name, value) if value.ndim > 1 else value.detach()
        arrays[name] = kept.cpu().numpy()
    arrays["card"] = np.frombuffer(json.dumps({"format": FORMAT, **card}).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_whole(path, buffer.getvalue())


def build(name: str, options: Mapping[str, Any], kind: str, settings: Mapping[str, Any]) -> nn.Module:
    """Return an untrained network of the shape that a card describes."""
    return recipe(kind, settings).rebuild(backbone(name, **options))


def load_weights(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """Return a network in inference mode, and its card."""
    try:
        # Opened here: numpy would leave a file open that is no zip.
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        card = json.loads(bytes(arrays.pop("card")))
        if card["format"] != FORMAT:
            raise KeyError
        about = [card[name] for name in ("backbone", "options", "recipe", "settings")]
    except DAMAGED as error:
        raise ValueError(f"{path}: no weights of tcuq ({type(error).__name__})") from None
    try:
        network = build(*about)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from None
    state = {RENAMED.get(name, name): torch.from_numpy(np.asarray(array)) for name, array in arrays.items()}
    own = network.state_dict()
    for name, value in own.items():
        if name not in state or state[name].shape != value.shape:
            raise ValueError(f"{path}: holds no {name} of shape {tuple(value.shape)}; other architecture")
    network.load_state_dict({name: state[name].to(value.dtype) for name, value in own.items()})
    core(network).trained = _size_of(card)
    return network.eval(), card


def _size_of(card: dict[str, Any]) -> tuple[int, int] | None:
    """Return height and width of what a network was trained on, where its card says so."""
    try:
        # Cards of old name the dataset alone.
        shape = card["input"][1:] if "input" in card else form_of(card["config"]["dataset"]).blank.shape[1:3]
        height, width = (int(each) for each in shape)
    except (KeyError, ValueError, TypeError):
        return None
    return height, width
