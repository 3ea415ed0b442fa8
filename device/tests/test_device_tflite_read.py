"""The reader of TFLite files: what it gives, what it refuses, and that no bytes can hurt it."""

from __future__ import annotations

import contextlib
import struct
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from chain_tflite import write_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from refusals import refused
from tflite_reference import evaluate

from tcuq_device.tflite.convert import _STEPS
from tcuq_device.tflite.flatbuffer import MOST_ITEMS, root
from tcuq_device.tflite.model import Model
from tcuq_device.tflite.read import load_model, read_model

FOLDER = ROOT / "device" / "tests" / "data"
MODELS = sorted(FOLDER.glob("*.tflite"))


def model(name: str) -> Model:
    return load_model(FOLDER / f"{name}.tflite")


def test_the_models_use_every_supported_operator() -> None:
    # The converter writes others in place of these, which have tests of their own.
    rare = {"EXPAND_DIMS", "PADV2", "RELU_0_TO_1"}
    assert {each.code for path in MODELS for each in load_model(path).operators} == set(_STEPS) - rare


def test_unsupported_operators_are_named_with_their_place() -> None:
    """The number of PAD in the list of operators becomes that of DIV."""
    content = bytearray((FOLDER / "shapes.tflite").read_bytes())
    codes = root(bytes(content)).tables(1)
    place = next(each._place(3) for each in codes if each.number(3, "<i4", 0) == 34)
    assert place is not None
    content[place : place + 4] = struct.pack("<i", 42)
    old = next(each._place(0) for each in codes if each.number(0, "<i1", 0) == 34)
    assert old is not None
    content[old] = 41
    with refused("unsupported", "DIV") as caught:
        read_model(bytes(content), "m")
    assert caught.value.where.startswith("m: operator 0 (DIV) to tensor ")


def test_float_models_are_refused_with_what_to_do() -> None:
    content = bytearray((FOLDER / "dense.tflite").read_bytes())
    graph = root(bytes(content)).tables(2)[0]
    place = graph.tables(0)[int(graph.numbers(1, "<i4")[0])]._place(1)
    assert place is not None
    content[place] = 0
    with refused("unsupported", "dtype"):
        read_model(bytes(content))


def test_scales_and_zero_points_of_a_tensor_are_as_many() -> None:
    content = bytearray((FOLDER / "conv.tflite").read_bytes())
    tensors = root(bytes(content)).tables(2)[0].tables(0)
    given = next(
        found for each in tensors if (found := each.table(4)) is not None and len(found.numbers(3, "<i8")) > 1
    )
    begin, count = given._vector(given._place(3) or 0)
    struct.pack_into("<I", content, begin - 4, count - 1)
    with refused("damaged"):
        read_model(bytes(content))


WORDS = (0, 1, 2, 4, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1)
"""Telling numbers, where offsets, lengths and indices are."""


@st.composite
def damaged_models(draw: st.DrawFn) -> bytes:
    """Draw a model with flipped bits, other words, words a little off, a part elsewhere, or cut off."""
    content = bytearray(draw(st.sampled_from(MODELS)).read_bytes())
    words = np.frombuffer(content[: len(content) // 4 * 4], "<u4")
    short = (
        np.flatnonzero((words[2:] > 0) & (words[2:] < 64)) * 4 + 8
    ).tolist()  # lengths, indices, codes, near offsets
    places = st.integers(2, len(words) - 1).map(lambda word: 4 * word) | st.sampled_from(short)
    for kind in draw(st.lists(st.sampled_from(["bit", "word", "near", "splice"]), min_size=1, max_size=3)):
        at = draw(places)
        (value,) = struct.unpack_from("<I", content, at)
        if kind == "bit":
            value ^= 1 << draw(st.integers(0, 31))
        elif kind == "word":
            value = draw(st.sampled_from((*WORDS, len(content), at, 2**32 - at)))
        elif kind == "near":
            value = (value + draw(st.sampled_from([-8, -4, -2, -1, 1, 2, 4, 8]))) % 2**32
        else:
            source, length = draw(places), draw(st.integers(1, 64))
            part = bytes(content[source : source + length])
            content[at : at + len(part)] = part
            continue
        struct.pack_into("<I", content, at, value)
    return bytes(
        content[: draw(st.integers(len(content) // 2, len(content)))] if draw(st.booleans()) else content
    )


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@settings(max_examples=max(1500, settings().max_examples))
@given(content=damaged_models())
def test_damaged_files_are_refused_or_read(content: bytes) -> None:
    begin = time.process_time()
    try:
        found = read_model(content)
    except ValueError as error:
        assert len(str(error).splitlines()) == 1, error
        found = None
    assert time.process_time() - begin < 1
    if found and sum(each.size for each in found.tensors) < 2**14:
        evaluate(found, [np.zeros(found.tensors[each].shape, np.int8) for each in found.inputs])


@settings(max_examples=max(100, settings().max_examples))
@given(content=damaged_models())
def test_damaged_files_take_little_memory(content: bytes) -> None:
    tracemalloc.start()
    with contextlib.suppress(ValueError):
        read_model(content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**24


def crowded(count: int, shape: int = 108) -> bytes:
    """Return a model whose list of tensors names one tensor of (shape,) values many times."""
    content = (FOLDER / "conv.tflite").read_bytes()
    file = root(content)
    place = file.tables(2)[0]._place(0)
    sizes = [len(each.numbers(0, "<u1")) for each in file.tables(4)]
    assert place is not None and 108 in sizes
    vector = len(content) + -len(content) % 4
    grown = bytearray(content.ljust(vector, b"\0"))
    struct.pack_into("<I", grown, place, vector - place)
    table = vector + 4 + 4 * count + 12
    grown += struct.pack("<I", count)
    grown += b"".join(struct.pack("<I", table - (vector + 4 + 4 * at)) for at in range(count))
    # The list of fields: shape at 4, type at 12, buffer at 8; the table; the shape.
    grown += struct.pack("<HHHHHxx", 10, 16, 4, 12, 8)
    grown += struct.pack("<iIIb3x", 12, 12, sizes.index(108), 9)
    return bytes(grown + struct.pack("<Ii", 1, shape))


@pytest.mark.parametrize("count", [MOST_ITEMS, MOST_ITEMS + 1, 10**5])
def test_endless_lists_take_neither_time_nor_memory(count: int, traced: None) -> None:
    content = crowded(count)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    begin = time.process_time()
    with refused("limit"):
        read_model(content)
    assert time.process_time() - begin < 3  # a trace of coverage takes most of it
    assert tracemalloc.get_traced_memory()[1] - before < 2**24


def test_a_vector_longer_than_the_file() -> None:
    content = bytearray((FOLDER / "conv.tflite").read_bytes())
    (begin, _) = root(bytes(content))._vector(root(bytes(content))._place(4) or 0)
    struct.pack_into("<I", content, begin - 4, 3000)
    with refused("damaged"):
        read_model(bytes(content))


def test_what_the_converter_left_in_float_is_named(tmp_path: Path) -> None:
    """Full integer quantization was asked for, and cannot help with an operator that has no int8 kernel."""
    pytest.importorskip("ai_edge_litert", reason="the test writes its models with ai-edge-litert")
    steps = [("DEQUANTIZE", "float32"), ("SIN", "float32"), ("QUANTIZE", "int8"), ("SOFTMAX", "int8")]
    path = write_chain(tmp_path / "sin.tflite", 4, steps)
    with refused("unsupported", "SIN"):
        load_model(path)


@pytest.mark.parametrize("code", ["SVDF", "WHILE", "COS"])
def test_what_is_not_supported_comes_with_a_remedy(code: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="the test writes its models with ai-edge-litert")
    path = write_chain(tmp_path / "model.tflite", 4, [(code, "int8"), ("SOFTMAX", "int8")], subgraphs=2)
    with refused("unsupported", code) as caught:
        load_model(path)
    assert "TFLite Micro" in str(caught.value) or "unroll=True" in str(caught.value)
