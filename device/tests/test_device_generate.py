# SPDX-License-Identifier: MIT
"""Plans of memory, the C that a graph becomes, and its execution on this computer."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from device_graphs import Maker, dscnn, resnet8, whole
from device_programs import WARNINGS, kernels_in
from refusals import refused

from tcuq_device.generate.arena import SCRATCH, lay_out
from tcuq_device.generate.pack import scratch_of
from tcuq_device.generate.source import sources, write
from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Add, sources_of
from tcuq_device.kernels import checked, host
from tcuq_device.kernels.host import Network


def small() -> Maker:
    make = Maker((6, 6, 3), 3)
    x = make.conv("input", 8, (3, 3), 1, (1, 1, 1, 1))
    x = make.add(make.conv(make.depthwise(x), 8, (1, 1)), x)
    make.softmax(make.dense(make.mean(x), 5))
    return make


# Memory.


@pytest.mark.parametrize("make", [small(), resnet8(), dscnn()])
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("keep_input", [True, False])
def test_only_what_a_step_may_overwrite_shares_memory(make: Maker, overlap: bool, keep_input: bool) -> None:
    graph = whole(make)
    found = lay_out(graph, overlap, keep_input)
    lives: dict[str, tuple[int, int, int]] = {}
    if not keep_input:
        read = [number for number, step in enumerate(graph.steps) if graph.input in sources_of(step)]
        lives[graph.input] = (graph.tensors[graph.input].size, 0, max(read))
    for number, step in enumerate(graph.steps):
        last = max(
            [n for n, later in enumerate(graph.steps) if step.target in sources_of(later)], default=number
        )
        last = len(graph.steps) if step.target in graph.outputs.values() else last
        lives[step.target] = (graph.tensors[step.target].size, number, last)
        size = scratch_of(step, graph.tensors[sources_of(step)[0]], graph.tensors[step.target])
        if size:
            lives[f"{SCRATCH}{number}"] = (size, number, number)
    assert set(lives) == set(found.offsets)
    allowed = (
        {(step.target, source) for step in graph.steps for source in sources_of(step)} if overlap else set()
    )
    for a, (size, first, last) in lives.items():
        assert found.offsets[a] % 4 == 0
        assert found.offsets[a] + size <= found.size
        for b, (other, begin, end) in lives.items():
            together = a != b and first <= end and begin <= last
            if together and (a, b) not in allowed and (b, a) not in allowed:
                at, bt = found.offsets[a], found.offsets[b]
                assert at + size <= bt or bt + other <= at, (a, b)


def test_known_networks_fit() -> None:
    pictures, words = whole(resnet8()), whole(dscnn())
    assert lay_out(pictures).size == lay_out(pictures).bound == 34496
    assert lay_out(words).size == lay_out(words).bound == 8512
    assert lay_out(pictures, overlap=False).size <= 3 * 16384 + 1200
    for graph in (pictures, words):
        assert lay_out(graph, keep_input=True).size == lay_out(graph).size, "the input lies in it for nothing"


# Text.


@pytest.mark.parametrize(
    "text", ["*/ int x; /*", "*\\ int x;", "*??/\n/ int x;", "*\r/ \u202e\u2066\x07\u00e9"]
)
def test_a_comment_cannot_be_left(text: str) -> None:
    """The file name of a model stands there, where `*` and a backslash became the end of the comment."""
    graph = replace(whole(small()), about={"file": text, text: 1})
    for name in ("tiny.c", "tiny.h"):
        banner, _, rest = sources(graph, "tiny")[name].partition(" */\n")
        assert rest == sources(whole(small()), "tiny")[name].partition(" */\n")[2]
        assert re.fullmatch(r"/\*(?: [A-Za-z0-9 .,:;_+=()-]+(?:\n \*)?)+", banner), banner


@pytest.mark.parametrize("name", ["__FILE__", "a__b", "linux", "while", "NULL", "int8_t", "\u202ex"])
def test_an_output_whose_name_a_compiler_knows_is_refused(name: str) -> None:
    """`__FILE__` gave C that does not compile."""
    with refused("value", "name of an output"):
        sources(replace(whole(small()), outputs={name: "t1"}), "tiny")


@pytest.mark.cases(1)
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_generated_code_has_no_warnings(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: install the Debian package {compiler.replace('++', '')}")
    make = small()
    make.drop("input")
    nothing = Graph("nothing", {"x": Tensor("x", (3,), 1.0, 0)}, [], "x", {"probs": "x"})
    for name, graph in (("tiny", make.graph(probs=make.steps[-2].target)), ("nothing", nothing)):
        write(graph, tmp_path, name)
    language = ["-x", "c++", "-std=c++11"] if "++" in compiler else ["-std=c99", "-Wstrict-prototypes"]
    strict = ["-Werror", "-Wshadow", "-Wcast-qual", "-Wundef", "-Wmissing-declarations", "-fsyntax-only"]
    for name in ("tiny.c", "nothing.c", *(file.name for file in kernels_in(tmp_path))):
        done = subprocess.run(
            [compiler, *language, *WARNINGS, *strict, tmp_path / name], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


# On this computer.

BREAKS = {
    "Conv": ("b->out[i][2 * pair] = finished(way, sum,", "b->out[i][2 * pair] = finished(way, 1 - sum,"),
    "Depthwise": ("    sums[3] += x[3] * weights[3];", ""),
    "Dense": ("widen4(column + whole, 2, last);", ""),
    "Add": ("a[i] * s->left + b[i] * s->right", "b[i] * s->left + a[i] * s->right"),
    "MeanPool": ("sum += *at;", "sum += i & 1 ? *at : 0;"),
    "Drop": ("x ^= x >> 17;", "x ^= x >> 16;"),
    "Softmax": ("p > 255u ? 255u : p", "p > 250u ? 250u : p"),
    "Depthwise, by TFLite": ("high -= high < 0;", ""),
    "Conv, by TFLite, dilated": (
        "column = x + j * c->wide;\n            int inside",
        "column = x + j; int inside",
    ),
    "Depthwise, by TFLite, 2 outputs": ("x[(first + i) / each]", "x[(first + i) % each]"),
    "Dense, by TFLite": ("(int32_t)1 << (-2 - shift)", "(int32_t)1 << (-1 - shift)"),
    "TableAdd": ("(first + t->right[b & 255]) / 2", "(first - t->right[b & 255]) / 2"),
    "Mul": (
        "(b[i * by_b] - m->second);\n        out[i] = near",
        "(b[i * by_b] + m->second);\n        out[i] = near",
    ),
    "MeanPool of all kinds": ("sum += from[j];", "sum += j & 1 ? 0 : from[j];"),
    "Pool": ("sum < 0 ? -(count / 2) : count / 2", "count / 2"),
    "Table": ("out[i] = table[in[i] & 255];", "out[i] = table[in[i] & 127];"),
    "Pad": ("f->after[1] * line", "f->after[1] * bytes"),
    "Concat": ("rows--, in += bytes, out += apart", "rows--, in += bytes, out += bytes"),
    "FixedSoftmax": (
        "for (i = 0; i < 3; i++) {\n        int32_t missing",
        "for (i = 0; i < 1; i++) {\n        int32_t missing",
    ),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "operator",
    [each if at % 4 == 0 else pytest.param(each, marks=pytest.mark.slow) for at, each in enumerate(BREAKS)],
)
def test_a_compiler_that_breaks_a_kernel_is_refused(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = BREAKS[operator]
    texts = host.kernel_texts()
    assert sum(old in text for text in texts.values()) == 1
    broken = {file: text.replace(old, new) for file, text in texts.items()}
    monkeypatch.setattr(host, "kernel_texts", lambda: broken)
    x, y = Tensor("x", (4,), 1.0, 0), Tensor("y", (4,), 1.0, 0)
    graph = Graph("g", {"x": x, "y": y}, [Add("x", "x", "y", 1, 1, 0, 1)], "x", {"y": "y"})
    # Options of its own: what was compiled with others is kept.
    flags = ["-std=c99", "-O1", f"-DBROKEN_{''.join(filter(str.isalnum, operator))}"]
    with refused("failed") as caught:
        Network(graph, flags=flags)
    assert f"breaks the kernel {operator}" in str(caught.value)


def test_the_vectors_of_kernels_are_those_of_the_oracle() -> None:
    folder = Path(checked.__file__).parent
    assert (folder / checked.VECTORS).read_text("ascii") == checked.made(), "run tools/make_kernel_vectors.py"


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is missing: install the Debian package gcc")


@pytest.mark.cases(1)
@pytest.mark.parametrize("make", [resnet8(1), dscnn(1)])
def test_whole_networks_give_the_bits_of_the_arithmetic(make: Maker) -> None:
    graph, x = whole(make), make.input(2)
    found, wanted = Network(graph).run(x), oracle.run(graph, x)
    assert set(found) == {"probs", "features"}
    for purpose, values in wanted.items():
        assert found[purpose].dtype == np.int8
        assert np.array_equal(found[purpose], values)
    assert len(np.unique(found["features"])) > 10


def test_refusals_of_the_host() -> None:
    x, y = Tensor("x", (4,), 1.0, 0), Tensor("y", (4,), 1.0, 0)
    graph = Graph("g", {"x": x, "y": y}, [Add("x", "x", "y", 1, 1, 0, 1)], "x", {"y": "y"})
    with refused("needs", "no_such_cc"):
        Network(graph, compiler="no_such_cc")
    with refused("failed"):
        Network(graph, flags=["-no-such-option"])
    with refused("unknown"):
        Network(replace(graph, steps=[Add("z", "x", "y", 1, 1, 0, 1)]))
    with refused("value", "seed"):
        Network(graph, seed=0)
    with refused("value"):
        sources(graph, "double")
    network = Network(graph)
    for bad in (np.zeros((1, 5), np.int8), np.zeros((1, 4), np.uint8), np.zeros(4, np.int8)):
        with refused("value", "x"):
            network.run(bad)
