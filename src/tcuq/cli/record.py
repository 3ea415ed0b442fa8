"""`tcuq record`: a log from a model and data."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import answer, comma_list, given, keep_apart, need_files, note, progress
from .parser import declare
from .words import expect_model, spoken

if TYPE_CHECKING:
    from ..log.log import Log
    from .parser import Parser, Subparsers


def _checked(option: str, module: str, check: str) -> Callable[[str], str]:
    """Return what checks a word at once, where ``--stream MODEL DATA`` would only lack DATA."""

    def read(text: str) -> str:
        try:
            getattr(import_module(f"tcuq.recording.{module}"), check)(text)
        except ValueError as error:
            hint = f"; put {option} after DATA" if Path(text).suffix else ""
            raise argparse.ArgumentTypeError(f"{error}{hint}") from None
        return text

    return read


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "record",
        None,
        "tcuq record model.tflite data.npz -o dev.npz --stream --shifts\n"
        "tcuq record model.onnx pictures/ -o dev.npz --stream --shifts",
        command,
        "tcuq fit dev.npz -o monitor.json",
        about="Reads your model and its inputs. Writes a log: the softmax outputs and features of each "
        "step, and labels if DATA has them. Plain examples need --stream, to come in the order of a real "
        "stream, and --shifts, to be degraded now and then. Leave both out for inputs that were recorded in "
        "the field.",
    )
    add_recording_options(parser, "--output", "LOG", "log to write: .npz, .parquet or .arrow")
    option = parser.add_argument
    shape = "shape of one input, if DATA is a folder and the model does not say it"
    option("--input-shape", type=comma_list(int), metavar="N,N,...", help=shape)
    option("--labels", metavar="FILE", help="labels in a file of their own, .npy (default: those in DATA)")
    length = "with --stream: its length in steps (default: the number of examples)"
    option("--steps", type=int, metavar="N", help=length)


def add_recording_options(parser: Parser, out: str, metavar: str, about_out: str) -> None:
    """Declare model, data and how they are read: what `record` and `start` share."""
    option = parser.add_argument
    option(
        "model",
        metavar="MODEL",
        help="model: .tflite, .onnx or .keras, or module:name of a PyTorch or Keras model, of an object with "
        "predict_proba, or of a function",
    )
    option(
        "data",
        metavar="DATA",
        help="inputs: .npz with x and, if you have them, y, segments, shifted and names; .npy; a folder of "
        "class folders with pictures or .wav files; module:function that gives batches (x, y)",
    )
    option("-o", out, metavar=metavar, required=True, help=about_out)
    option = parser.add_argument_group("model and data").add_argument
    option(
        "--features",
        metavar="NAME",
        help="tensor, layer or submodule to keep as features, by name or number, or none (default: the input "
        "of the last fully connected layer)",
    )
    option("--posteriors", metavar="NAME", help="output with the softmax or logits, if there are several")
    option("--logits", action="store_true", help="the model has no softmax: apply one")
    named = "names of the classes in the order of the model's outputs, or a file with one per line"
    option("--names", metavar="NAME,NAME,...|FILE", help=named)
    kernels = "int8 TFLite: optimized kernels; single bits may differ from the reference kernels"
    option("--fast", action="store_true", help=kernels)
    option(
        "--input-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="range of inputs that the model was trained on, such as 0 1 or -1 1 (default: as DATA is; for "
        "pictures that have labels, the one with which the model is clearly most accurate)",
    )
    option = parser.add_argument_group("plain examples as a stream").add_argument
    option(
        "--stream",
        type=_checked("--stream", "streams", "paces_of"),
        nargs="?",
        const="mixed",
        metavar="PACE,...",
        help="arrange plain examples as a stream: mixed (default), shuffled, dwell=N (a class stays N "
        "steps), held=N (one example, shaken); put it after DATA",
    )
    option(
        "--shifts",
        type=_checked("--shifts", "shifts", "listed"),
        nargs="?",
        const="auto",
        action="append",
        metavar="SET",
        help="degrade some stretches of the stream: by the generic set that suits the data (corruptions, and "
        "blank, saturated and frozen input), pictures, sound, signals, tables, none, or module:function of "
        "your own; may be given several times",
    )
    option("--seed", type=int, metavar="N", help="seed of stream and shifts (default: 0)")


def recording_given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_recording_options` that were given, as `record` takes them."""
    from ..recording.run import read_names

    options: dict[str, Any] = given(args, "features", "posteriors", "stream", "shifts", "seed")
    if args.input_range is not None:
        options["input_range"] = tuple(args.input_range)
    if args.names is not None:
        options["names"] = read_names(args.names)
    return options | {"logits": args.logits, "fast": args.fast}


def find_own_modules() -> None:
    """Let ``module:name`` be found in the folder where one works."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def command(args: argparse.Namespace) -> int:
    """Run the model and write the log."""
    from ..io import write_log
    from ..io.logs import log_format
    from ..io.sources import check_target
    from ..recording import record

    need_files(args, "MODEL", "DATA", "--output", "--labels")
    expect_model(args.model, args.data)
    log_format(args.output)
    check_target(args.output)
    keep_apart({"MODEL": args.model, "DATA": args.data, "--labels": args.labels}, {"LOG": args.output})
    options = recording_given(args) | given(args, "steps", "input_shape")
    find_own_modules()
    marks = []

    def show(done: int, total: int, text: str) -> None:
        marks.append(time.monotonic())
        del marks[1:-1]
        bar(done, max(done, total), text)

    with progress(args) as bar, spoken(args):
        log = record(args.model, args.data, args.labels, progress=show, **options)
    seconds = marks[-1] - marks[0]
    notes = list(log.notes)
    for each in notes:
        note(args, each)
    write_log(args.output, log)
    size = Path(args.output).stat().st_size
    facts = _facts(log) | {"log": args.output, "bytes": size, "seconds": round(seconds, 3), "notes": notes}
    answer(args, facts, _text(args.output, facts, log))
    return 0


def _facts(log: Log) -> dict[str, Any]:
    import numpy as np

    from ..log.class_names import shift_shown

    facts: dict[str, Any] = {"inferences": len(log), "classes": log.classes}
    facts |= {"posteriors": str(log.probs.dtype), "features": log.width}
    facts |= {name: getattr(log, name) for name in ("feature_scale", "feature_zero_point", "names")}
    facts["accuracy"] = None if log.labels is None else float(1 - log.errors().mean())
    if log.labels is not None and log.kinds is not None:
        wrong, kinds = log.errors(), log.kinds
        rates = {kind: float(wrong[kinds == kind].mean()) for kind in np.unique(kinds).tolist()}
        facts["wrong_by_kind"] = {shift_shown(kind, log.shift_names): rate for kind, rate in rates.items()}
    return facts


def _text(path: str, found: dict[str, Any], log: Log) -> str:
    from ..labels.check import beside_chance

    each = 1000 * found["seconds"] / len(log)
    lines = [
        f"{path}: {len(log):,} inferences, {log.classes} classes, {found['bytes']:,} bytes; {each:.2f} ms an "
        "inference, with reading the data",
        f"posteriors: {log.probs.dtype}" + (" (scale 1/256, zero point -128)" * (log.probs.dtype == "int8")),
    ]
    if log.features is None:
        lines.append("features: none")
    elif log.feature_scale is None:
        unknown = " of unknown scale; tell it to tcuq fit with --feature-scale and --feature-zero-point"
        scale = unknown * (log.features.dtype == "int8")
        lines.append(f"features: {log.width}, {log.features.dtype}{scale}")
    else:
        format = f"scale {log.feature_scale:g}, zero point {log.feature_zero_point}"
        lines.append(f"features: {log.width}, {log.features.dtype} ({format})")
    if log.labels is None:
        lines.append("labels: none; a fit without labels learns less")
    else:
        lines.append(f"labels: {100 * found['accuracy']:.1f} % of the predictions are right")
        better = beside_chance(log)
        if better is not None:
            hint = "check the range of the inputs (--input-range) and the order of the classes (--names)"
            lines[-1] += f", {better}; {hint}"
    if "wrong_by_kind" in found:
        lines.append("wrong: " + ", ".join(f"{k} {100 * v:.1f} %" for k, v in found["wrong_by_kind"].items()))
    return "\n".join(lines)
