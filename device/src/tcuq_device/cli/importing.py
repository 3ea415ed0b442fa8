"""`tcuq device import`: an int8 TFLite model as a graph."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, keep_apart, need_files, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError
from tcuq.cli.words import spoken

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers


def add(actions: Subparsers) -> None:
    """Declare the action."""
    parser = declare(
        actions,
        "import",
        "turn an int8 TFLite model into a graph for cost, build and emit",
        "tcuq device import model.tflite -o model.npz",
        command,
        "tcuq device cost model.npz --board stm32l432kc",
    )
    option = parser.add_argument
    option("model", metavar="MODEL", help="int8 model, .tflite")
    option("-o", "--output", metavar="GRAPH", required=True, help="graph to write, .npz")
    option(
        "--softmax",
        action="store_true",
        help="the model has no softmax: append the one that tcuq record --logits applies",
    )
    option(
        "--features",
        metavar="TENSOR",
        help="tensor to give out as features, by name or number, or none (default: the input of the last "
        "fully connected layer, as in tcuq record)",
    )
    option(
        "--posteriors",
        metavar="NAME",
        help="output with the softmax or logits, if the model has several outputs",
    )


def command(args: argparse.Namespace) -> int:
    """Import a model and say what was found."""
    from tcuq.io.sources import check_target

    from ..generate.arena import lay_out
    from ..graph.model import products, weight_bytes
    from ..graph.storage import save_graph
    from ..tflite.importing import import_model
    from ..tflite.outputs import OutputChoice

    need_files(args, "MODEL", "--output")
    if Path(args.output).suffix.lower() != ".npz":
        raise UsageError(f"GRAPH is {args.output}, expected a name that ends in .npz")
    check_target(args.output)
    keep_apart({"MODEL": args.model}, {"GRAPH": args.output})
    asked = OutputChoice(args.softmax, False if args.features == "none" else args.features, args.posteriors)
    with spoken(args):
        made = import_model(args.model, asked=asked)
    graph = made.graph
    save_graph(args.output, graph)
    given = graph.tensors[graph.input]
    outputs = {use: graph.tensors[name] for use, name in graph.outputs.items()}
    found = {
        "name": graph.name,
        "operators": dict(made.operators),
        "macs": products(graph),
        "weights": weight_bytes(graph),
        "arena": lay_out(graph).bytes,
        "input": {"shape": given.shape, "scale": given.scale, "zero_point": given.zero},
        "outputs": {
            use: {"size": each.size, "scale": each.scale, "zero_point": each.zero}
            for use, each in outputs.items()
        },
        "notes": made.notes,
    }
    lines = [
        f"{args.model} is now {args.output}, network {graph.name}:",
        f"  operators  {', '.join(f'{count} {code}' for code, count in sorted(made.operators.items()))}",
        f"  MACs       {found['macs']:,} an inference",
        f"  weights    {found['weights']:,} bytes",
        f"  arena      {found['arena']:,} bytes of RAM",
        f"  input      int8 {' x '.join(map(str, given.shape))}, scale {given.scale:g}, "
        f"zero point {given.zero}",
        *(
            f"  {use:<10} int8 {each.size:,}, scale {each.scale:g}, zero point {each.zero}"
            for use, each in outputs.items()
        ),
    ]
    answer(args, found, "\n".join(lines))
    for line in made.notes:
        note(args, line)
    return 0


def add_outputs(actions: Subparsers) -> None:
    """Declare the action that gives a model its features as an output."""
    parser = declare(
        actions,
        "outputs",
        "write a copy of a TFLite model that also outputs its features, for other runtimes",
        "tcuq device outputs model.tflite -o features.tflite",
        outputs,
        "tcuq export monitor.json firmware --glue tflm",
        about="A runtime may overwrite the features before the inference ends, unless they are an output.",
    )
    option = parser.add_argument
    option("model", metavar="MODEL", help="any .tflite model, int8 or not")
    option("-o", "--output", metavar="FILE", required=True, help="model to write, .tflite")
    features = "tensor, by name or number (default: the input of the last fully connected layer)"
    option("--features", metavar="TENSOR", help=features)


def outputs(args: argparse.Namespace) -> int:
    """Write the copy and say which output is which."""
    from dataclasses import asdict

    from tcuq.base.atomic_files import write_whole
    from tcuq.base.limits import read_limited

    from ..tflite.second_output import with_features

    need_files(args, "MODEL", "--output")
    keep_apart({"MODEL": args.model}, {"FILE": args.output})
    with spoken(args):
        made = with_features(read_limited(args.model, "model"), args.features, str(args.model))
    write_whole(args.output, made.content)
    values = {name: value for name, value in asdict(made).items() if name != "content"}
    scale = "" if made.scale is None else f", scale {made.scale:g}, zero point {made.zero_point}"
    text = f"{args.output}: output {made.output} is tensor {made.tensor} {made.name[:60]!a}, the features: "
    answer(args, values, f"{text}{made.dtype} {made.size:,}{scale}")
    return 0
