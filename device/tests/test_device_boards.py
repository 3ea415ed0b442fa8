"""Boards: true limits that the linker keeps, and what is said when something is missing or does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import device_graphs
import device_programs
import numpy as np
import pytest
from device_replay import HARNESS
from refusals import refused

from tcuq import Params
from tcuq.cli import main
from tcuq_device import tools
from tcuq_device.boards import board
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import build
from tcuq_device.firmware.decision import Prediction, Rule, Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.firmware.image import TooLarge, symbols_of
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Conv
from tcuq_device.graph.storage import save_graph

tooled = pytest.mark.skipif(tools.missing() is not None, reason=str(tools.missing()))
SMALL = board("stm32l432kc")


def dense(outputs: int) -> Graph:
    """A network of one product: its weights are nearly all that it has."""
    make = device_graphs.Maker((256,))
    return make.graph(probs=make.softmax(make.dense("input", outputs)))


def named(graph: Graph, name: str, **more: str) -> Graph:
    """The same network, its posterior by another name and further outputs beside it."""
    return replace(graph, outputs={name: graph.outputs["probs"], **more})


@tooled
def test_the_linker_keeps_every_byte(tmp_path: Path) -> None:
    """What fills a memory to the last byte links; with less it does not."""
    firmware = Firmware("full", [dense(20)])
    kept = tmp_path / "kept"
    sizes = build(firmware, SMALL, tmp_path / "a", kept=kept).sizes
    assert sizes.constants >= 20 * 256 and sizes.input == 0 and sizes.arena > 256
    exact = replace(SMALL, flash_bytes=sizes.flash)
    assert build(firmware, exact, tmp_path / "b", kept=kept).sizes == sizes
    with pytest.raises(TooLarge) as caught:
        build(firmware, replace(SMALL, flash_bytes=sizes.flash - 1), tmp_path / "c", kept=kept)
    assert caught.value.over == {"flash": 1} and caught.value.sizes.flash == sizes.flash
    need = (sizes.ram + 7) // 8 * 8 + SMALL.stack_bytes
    build(firmware, replace(SMALL, ram_bytes=need), tmp_path / "d", kept=kept)
    with refused("limit", "full") as error:
        build(firmware, replace(SMALL, ram_bytes=need - 8), tmp_path / "e", kept=kept)
    assert isinstance(error.value, TooLarge) and error.value.over == {"RAM": 8}


@tooled
def test_a_fault_ends_the_emulation(tmp_path: Path) -> None:
    image = build(Firmware("bare", shape=(10, 0)), SMALL, tmp_path / "a")
    data = bytearray(image.path.read_bytes())
    found = data.find(_bytes_at(image.path, symbols_of(image.path)["main"][0]))
    data[found : found + 2] = b"\xff\xde"  # an instruction that is none
    image.path.write_bytes(bytes(data))
    with refused("failed"):
        emulate(image, b"", timeout=20)


def _bytes_at(elf: Path, address: int) -> bytes:
    """Return some bytes of a program, from its listing."""
    text = tools.call(
        "arm-none-eabi-objdump", ["-s", f"--start-address={address}", f"--stop-address={address + 16}", elf]
    )
    return bytes.fromhex("".join(text.splitlines()[-1].split()[1:5]))


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert str(tools.missing()).startswith("arm-none-eabi-gcc is missing: ")
    with refused("needs", "arm-none-eabi-gcc"):
        build(Firmware("f", shape=(2, 0)), SMALL, tmp_path / "build")


@pytest.mark.slow
@tooled
def test_the_cost_of_a_monitor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Params(classes=10, features=32, feature_zero_point=-128).save(tmp_path / "m.json")
    assert main(["device", "cost", str(tmp_path / "m.json"), "--steps", "50", "--level", "Os", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["overhead"]["flash"] > 3000 and found["rule"]["instructions"]["steps"] == 50
    assert main(["device", "cost", str(tmp_path / "m.json"), "--steps", "5", "--board", "microbit"]) == 0


@tooled
def test_a_monitor_that_is_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = Params(classes=1000, features=256, lags=(1, 64))
    params.save(tmp_path / "m.json")
    assert main(["device", "cost", str(tmp_path / "m.json")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "m.json is too large for STM32L432KC: RAM over by " in said
    over = int(said.split("RAM over by ")[1].split()[0].replace(",", ""))
    assert params.ring_bytes - 65536 < over < params.ring_bytes - 65536 + 4096


@pytest.mark.parametrize("rule", [Prediction(), Watch(Params(classes=10))], ids=type)
def test_the_firmware_is_clean_for_another_compiler(rule: Rule, tmp_path: Path) -> None:
    device_programs.no_warnings_from_clang(rule, [HARNESS], tmp_path)


@tooled
def test_building_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params, graph, out = (tmp_path / name for name in ("params.json", "g.npz", "f.elf"))
    Params(classes=10, features=32, feature_zero_point=-128).save(params)
    save_graph(graph, device_graphs.graph_of())
    arguments = [str(graph), "--params", str(params), "--out", str(out), "--json"]
    assert main(["device", "build", *arguments]) == 0
    said = json.loads(capsys.readouterr().out)
    assert 5000 < said["flash"] < 40_000 and said["ram"] < 10_000 and out.read_bytes()[:4] == b"\x7fELF"
    assert 300 < said["stack_bound"] == sum(frame for _, frame in said["stack_path"]) < said["stack_reserved"]
    side = 400
    wide = {"x": Tensor("x", (side, side, 1), 1.0, 0), "probs": Tensor("probs", (side, side, 1), 1.0, 0)}
    one = np.ones(1, np.int32)
    step = Conv(
        "x", "probs", np.ones((1, 1, 1, 1), np.int8), one, one, (1, 1), (0, 0, 0, 0), np.zeros(1, np.int8)
    )
    save_graph(tmp_path / "wide.npz", Graph("wide", wide, [step], "x", {"probs": "probs"}))
    save_graph(tmp_path / "logits.npz", Graph("wide", wide, [step], "x", {"logits": "probs"}))
    wrong = [["wide.npz"], ["logits.npz"], ["g.npz", "--board", "stm32f7"], ["params.json"]]
    for file, *options in wrong:
        assert main(["device", "build", str(tmp_path / file), *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("missing", lambda: Firmware("f")),
        ("conflict", lambda: Firmware("f", [dense(3), dense(4)])),
        ("missing", lambda: Firmware("f", [named(dense(3), "logits")])),
        ("conflict", lambda: Firmware("f", [named(dense(3), "probs", probs_1="input")])),
        ("limit", lambda: Firmware("f", [dense(3)] * 3, 100)),
        ("conflict", lambda: Firmware("f", shape=(10, 3), rule=Watch(Params(classes=9)))),
        ("value", lambda: Firmware("f", shape=(10, 3), passes=0)),
    ],
)
def test_a_firmware_that_makes_no_sense(code: str, make) -> None:
    with refused(code):
        make()
