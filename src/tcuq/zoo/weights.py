"""Trained weights as one npz file: half precision, no pickle, with all that is known of the training."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..files import write_whole
from .recipes import recipe
from .registry import backbone

FORMAT = "tcuq-weights"


def round_weights(network: nn.Module) -> None:
    """Round the weights to half precision, in which they are stored.

    What is measured afterwards is what a reader of the file gets. Norm statistics, biases and input
    scales stay as they are: they reach beyond half precision, and are few.
    """
    for value in network.state_dict().values():
        if value.ndim > 1:
            value.copy_(value.half().to(value.dtype))


def save_weights(path: str | Path, network: nn.Module, card: dict[str, Any]) -> None:
    """Write weights and their card; nothing is left half-written.

    Parameters
    ----------
    path : path
    network : Backbone
    card : dict
        JSON-able: at least `backbone`, `options`, `recipe` and `settings`, from which the network is
        built again.
    """
    arrays: dict[str, Any] = {}
    for name, value in network.state_dict().items():
        array = value.detach().cpu().numpy()
        arrays[name] = array.astype(np.float16) if array.ndim > 1 else array
    arrays["card"] = np.frombuffer(json.dumps({"format": FORMAT, **card}).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_whole(path, buffer.getvalue())


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
    except (
        ValueError,
        KeyError,
        EOFError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(f"{path}: no weights of tcuq ({type(error).__name__})") from None
    try:
        network = recipe(about[2], about[3]).rebuild(backbone(about[0], **about[1]))
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from None
    state = {name: torch.from_numpy(np.asarray(array)) for name, array in arrays.items()}
    own = network.state_dict()
    for name, value in own.items():
        if name not in state or state[name].shape != value.shape:
            raise ValueError(f"{path}: holds no {name} of shape {tuple(value.shape)}; other architecture")
    network.load_state_dict({name: state[name].to(value.dtype) for name, value in own.items()})
    return network.eval(), card
