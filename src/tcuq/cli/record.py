"""`tcuq record`: a log from a model and data."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import answer, comma_list, given, keep_apart, need_files, note, progress
from .parser import declare
from .words import RECORDING, expect_model, in_options, spoken

if TYPE_CHECKING:
    from ..monitor.log import Log
    from .parser import Parser, Subparsers


def fraction(text: str) -> float:
    """Read a number, or a fraction of two.

    Examples
    --------
    >>> fraction("1/4"), fraction("0.5")
    (0.25, 0.5)
    """
    top, _, bottom = text.partition("/")
    try:
        return float(top) / float(bottom or 1)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r}, expected a number such as 0.5 or 1/255") from None


def _stream(text: str) -> str:
    """Check a word here, where ``--stream MODEL DATA`` would only lack DATA."""
    from ..recording.streams import paces_of

    return _checked(paces_of, text, "--stream")


def _shifts(text: str) -> str:
    from ..recording.shifts import listed

    return _checked(listed, text, "--shifts")


def _checked(check: Callable[[str], Any], text: str, option: str) -> str:
    try:
        check(text)
    except ValueError as error:
        hint = f"; put {option} after DATA" if Path(text).suffix else ""
        raise argparse.ArgumentTypeError(f"{error}{hint}") from None
    return text


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "record",
        "run a model over data and write a log",
        "tcuq record model.tflite data.npz -o dev.npz --stream --shifts\n"
        "tcuq record model.onnx pictures/ -o dev.npz --stream --shifts",
        command,
        "tcuq fit dev.npz -o monitor.json",
        about="Reads your model and its inputs. Writes a log: the softmax outputs and features of each "
        "step, and labels if DATA has them. Plain examples need --stream, to come in the order of a real "
        "stream, and --shifts, to be degraded now and then. Leave both out for inputs that were recorded in "
        "the field.",
    )
    add_recording_options(
        parser,
        ("-o", "--output"),
        {"metavar": "LOG", "help": "log to write: .npz, .parquet or .arrow"},
        "length of the stream, in steps (default: the number of examples)",
    )


def add_recording_options(
    parser: Parser, out: tuple[str, str], about_out: dict[str, str], steps: str
) -> None:
    """Declare model, data and how they are read: what `record` and `start` share.

    Parameters
    ----------
    parser : Parser
    out : tuple of str
        Names of the option for what is written.
    about_out : dict
        Its metavar and help.
    steps : str
        Help of ``--steps``.
    """
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
    option(*out, required=True, **about_out)
    option = parser.add_argument_group("what the model gives").add_argument
    option(
        "--features",
        metavar="NAME",
        help="tensor, layer or submodule to keep as features, by name or number (default: the input of the "
        "last fully connected layer)",
    )
    option(
        "--no-features",
        action="store_const",
        const=False,
        dest="features",
        help="keep the softmax outputs alone",
    )
    option(
        "--feature-scale",
        type=fraction,
        metavar="X",
        help="what one unit of int8 features is worth, if MODEL is a function that returns some",
    )
    option("--feature-zero-point", type=int, metavar="N", help="with it: the integer that stands for 0")
    option(
        "--posteriors",
        metavar="NAME",
        help="output with the softmax or logits, if the model has several outputs",
    )
    option("--logits", action="store_true", help="the model has no softmax: apply one")
    option(
        "--names",
        metavar="NAME,NAME,...|FILE",
        help="names of the classes in the order of the model's outputs, or a file with one a line",
    )
    option(
        "--fast",
        action="store_true",
        help="int8 TFLite: optimized kernels; single bits may differ from the reference kernels",
    )
    option = parser.add_argument_group("how DATA is read").add_argument
    option("--x", metavar="NAME", dest="x_name", help="array of the inputs in DATA (default: x)")
    option(
        "--y",
        metavar="NAME",
        dest="y_name",
        help="array of the labels in DATA (default: y, if it is there); with .npy, a second .npy file",
    )
    option(
        "--scale",
        type=fraction,
        metavar="X",
        help="multiply inputs by this (default: 1/255 for pictures and a float model, else 1)",
    )
    option(
        "--input-shape",
        type=comma_list(int),
        metavar="N,N,...",
        help="shape of one input, if DATA is a folder and the model does not say it",
    )
    option("--batch", type=int, metavar="N", help="inputs to run and keep in memory at once (default: 32)")
    option("--in-order", action="store_true", help="read a folder by class and file name (default: mixed)")
    option = parser.add_argument_group("plain examples as a stream").add_argument
    option(
        "--stream",
        type=_stream,
        nargs="?",
        const="mixed",
        metavar="PACE,...",
        help="arrange plain examples as a stream: mixed (default), shuffled, dwell=N (a class stays N "
        "steps), held=N (one example, shaken); put it after DATA",
    )
    option(
        "--shifts",
        type=_shifts,
        nargs="?",
        const="auto",
        action="append",
        metavar="SET",
        help="degrade some stretches of the stream: by the generic set that suits the data, pictures, sound, "
        "signals, none, or module:function of your own; may be given several times",
    )
    option("--steps", type=int, metavar="N", help=steps)
    option("--seed", type=int, metavar="N", help="seed of stream and shifts (default: 0)")


def recording_given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_recording_options` that were given, as `record` takes them."""
    from ..recording.run import read_names

    options: dict[str, Any] = given(
        args, "features", "posteriors", "x_name", "y_name", "scale", "input_shape", "batch"
    )
    options |= given(args, "feature_scale", "feature_zero_point", "stream", "shifts", "seed")
    if args.names is not None:
        options["names"] = read_names(args.names)
    return options | {"logits": args.logits, "fast": args.fast, "in_order": args.in_order}


def find_own_modules() -> None:
    """Let ``module:name`` be found in the folder where one works."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def command(args: argparse.Namespace) -> int:
    """Run the model and write the log."""
    from ..io import write_log
    from ..io.sources import check_target
    from ..io.writers import log_format
    from ..recording import record

    need_files(args, "MODEL", "DATA", "--output")
    expect_model(args.model, args.data)
    log_format(args.output)
    check_target(args.output)
    keep_apart({"MODEL": args.model, "DATA": args.data}, {"LOG": args.output})
    options = recording_given(args) | given(args, "steps")
    find_own_modules()
    marks = []

    def show(done: int, total: int, text: str) -> None:
        marks.append(time.monotonic())
        del marks[1:-1]
        bar(done, max(done, total), text)

    with progress(args) as bar, spoken(RECORDING):
        log = record(args.model, args.data, progress=show, **options)
    seconds = marks[-1] - marks[0]
    notes = [in_options(each, RECORDING) for each in log.notes]
    for each in notes:
        note(args, each)
    write_log(args.output, log)
    size = Path(args.output).stat().st_size
    found = _facts(log) | {"log": args.output, "bytes": size, "seconds": round(seconds, 3), "notes": notes}
    answer(args, found, _text(args.output, found, log))
    return 0


def _facts(log: Log) -> dict[str, Any]:
    found: dict[str, Any] = {
        "inferences": len(log),
        "classes": log.classes,
        "posteriors": str(log.probs.dtype),
        "features": log.width,
        "feature_scale": log.feature_scale,
        "feature_zero_point": log.feature_zero_point,
        "names": log.names,
        "accuracy": None,
    }
    if log.labels is not None:
        found["accuracy"] = float(1 - log.errors().mean())
    return found


def _text(path: str, found: dict[str, Any], log: Log) -> str:
    from ..recording.agreement import by_chance

    each = 1000 * found["seconds"] / len(log)
    lines = [
        f"{path}: {len(log):,} inferences, {log.classes} classes, {found['bytes']:,} bytes; {each:.2f} ms an "
        "inference, with reading the data",
        f"posteriors: {log.probs.dtype}" + (" (scale 1/256, zero point -128)" * (log.probs.dtype == "int8")),
    ]
    if log.features is None:
        lines.append("features: none")
    elif log.feature_scale is None:
        unknown = " of unknown scale; tell it with --feature-scale and --feature-zero-point"
        lines.append(
            f"features: {log.width}, {log.features.dtype}" + unknown * (log.features.dtype == "int8")
        )
    else:
        format = f"scale {log.feature_scale:g}, zero point {log.feature_zero_point}"
        lines.append(f"features: {log.width}, {log.features.dtype} ({format})")
    if log.labels is None:
        lines.append("labels: none; a fit without labels learns less")
    else:
        lines.append(f"labels: {100 * found['accuracy']:.1f} % of the predictions are right")
        hint = by_chance(log)
        if hint is not None:
            lines[-1] += f", {in_options(hint, RECORDING)}"
    return "\n".join(lines)
