"""`tcuq device outputs`: the copy of a model gives what the model gives, and its features besides."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from refusals import refused
from tiny_models import MODELS

from tcuq import InputError
from tcuq.cli import main
from tcuq_device.tflite.importing import import_model
from tcuq_device.tflite.second_output import PLANNED, with_features

INT8 = MODELS / "int8.tflite"
NET = ROOT / "device" / "tests" / "data" / "net.tflite"


@pytest.mark.parametrize("path", [INT8, MODELS / "float.tflite", MODELS / "sigmoid.tflite", NET], ids=str)
def test_the_copy_has_the_outputs_of_the_model_and_the_features(path: Path) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is missing")
    made = with_features(path.read_bytes())
    found = []
    for content in (path.read_bytes(), made.content):
        runner = litert.Interpreter(
            model_content=content,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=content is not made.content,
        )
        runner.allocate_tensors()
        given = runner.get_input_details()[0]
        draw = np.random.default_rng(1).integers(-128, 128, (5, *given["shape"]))
        for x in draw.astype(given["dtype"]):
            runner.set_tensor(given["index"], x)
            runner.invoke()
            outputs = [runner.get_tensor(each["index"]) for each in runner.get_output_details()]
            found.append([*outputs, runner.get_tensor(made.tensor)][: made.output + 1])
    assert made.output == 1 and made.size == found[0][1].size
    for wanted, seen in zip(found[:5], found[5:], strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(wanted, seen, strict=True))


def test_it_names_the_tensor_that_an_import_chooses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "features.tflite"
    assert main(["device", "outputs", str(INT8), "-o", str(new), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    graph = import_model(INT8).graph
    chosen = graph.tensors[graph.outputs["features"]]
    assert (said["size"], said["scale"], said["zero_point"]) == (chosen.size, chosen.scale, chosen.zero)
    old, content = INT8.read_bytes(), new.read_bytes()
    assert sum(one != other for one, other in zip(old, content, strict=False)) <= 4 < len(content) - len(old)
    # A second time nothing is added, by whatever name.
    assert with_features(content).content == content == with_features(content, said["name"]).content
    assert with_features(old, str(said["tensor"])).content == content


def test_what_gives_no_features_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = INT8.read_bytes()
    for name in ("0", "3", "999", "nothing"):  # an input, weights, and what is not there
        with refused("unknown", "features"):
            with_features(content, name)
    with refused("damaged"):
        with_features(b"no model at all")
    name = b"min_runtime_version"
    with refused("unsupported"):  # the name of metadata, as long as the other one with its length
        at = content.index(name) - 4
        with_features(content[:at] + bytes([len(PLANNED), 0, 0, 0]) + PLANNED.encode() + content[at + 27 :])
    new = tmp_path / "new.tflite"
    assert main(["device", "outputs", str(INT8), "-o", str(new), "--features", "nothing"]) == 2
    said = capsys.readouterr().err
    assert "--features" in said and said.count("\n") == 1 and not new.exists()


def test_damaged_files_are_refused_in_one_line() -> None:
    content, draw, refusals = INT8.read_bytes(), random.Random(2), 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(8, len(damaged))] = draw.choice((0, 1, 127, 255))
        try:
            made = with_features(bytes(damaged[: draw.choice((None, draw.randrange(len(damaged))))]))
        except InputError as error:
            refusals += 1
            assert "\n" not in str(error)
        else:
            assert with_features(made.content).output == made.output
    assert 100 < refusals < 400
