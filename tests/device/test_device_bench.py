"""Firmware with networks and rules: the bits of Python, counts that repeat, a table, a check of growth."""

from __future__ import annotations

import copy
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import device_graphs
import numpy as np
import pytest
from places import ROOT

from tcuq import Monitor, Params
from tcuq.cli import main
from tcuq.cli.device import FILE, RESULTS, render
from tcuq.device.boards import board
from tcuq.device.cost import bench
from tcuq.device.cost.cycles import cycles
from tcuq.device.cost.made_stream import made_stream
from tcuq.device.cost.measure import measure, overhead
from tcuq.device.cost.stored import grown, load, save
from tcuq.device.emulate.agree import digest, words
from tcuq.device.emulate.emulator import emulate, plugin
from tcuq.device.firmware.build import Levels, build
from tcuq.device.firmware.decision import Conformal, Rule, Vote, Watch
from tcuq.device.firmware.firmware import SEED, Firmware, posteriors
from tcuq.device.graph.model import Graph
from tcuq.device.kernels.host import Network
from tcuq.device.tools import call, missing, path_of
from tcuq_lab.methods.conformal import p_values
from tcuq_lab.methods.method import Observed
from tcuq_lab.methods.temporal.vote import Vote as PythonVote

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SMALL, BIG = board("stm32l432kc"), board("stm32f767zi")
CLASSES, FEATURES = 10, 32


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def backbone(seed: int = 0, drop: bool = False, heads: int = 1) -> device_graphs.Maker:
    """A small picture network: two convolutions, a pool, one or more heads with a posterior each."""
    make = device_graphs.Maker((12, 12, 3), seed)
    x = make.conv(make.conv("input", 16, (3, 3), 2, (1, 1, 1, 1)), FEATURES, (3, 3), 2, (1, 1, 1, 1))
    features = make.mean(make.drop(x) if drop else x)
    make.features = features  # type: ignore[attr-defined]
    make.probs = [make.softmax(make.dense(features, CLASSES)) for _ in range(heads)]  # type: ignore[attr-defined]
    return make


def graph_of(seed: int = 0, drop: bool = False, heads: int = 1) -> Graph:
    make = backbone(seed, drop, heads)
    names = ["probs", *(f"probs_{number}" for number in range(1, heads))]
    outputs = dict(zip(names, make.probs, strict=True))  # type: ignore[attr-defined]
    return make.graph(features=make.features, **outputs)  # type: ignore[attr-defined]


def pictures(count: int) -> np.ndarray:
    return backbone().input(count)


@pytest.mark.parametrize("profile", ["paper", "extended"])
@pytest.mark.parametrize("on", [SMALL, BIG], ids=lambda each: each.name)
def test_backbone_and_monitor_say_what_python_says(on: Any, profile: str, kept: Path, tmp_path: Path) -> None:
    graph, x, params = graph_of(), pictures(40), bench.monitors()[profile]
    image = build(Firmware("f", [graph], rule=Watch(params)), on, tmp_path / "build", kept=kept)
    ran = emulate(image, x.tobytes())
    host, monitor = Network(graph).run(x), Monitor(params)
    expected = []
    for probs, features in zip(host["probs"], host["features"], strict=True):
        step = monitor.step(probs, features)
        expected.append([probs.tobytes().hex(), digest(features), *words(step)])
    assert [line.split()[2:] for line in ran.lines] == expected
    assert len({line[0] for line in expected}) > 30, "posteriors differ from step to step"


@pytest.mark.parametrize(
    ("graphs", "passes"),
    [
        ([graph_of(heads=3)], 1),
        ([graph_of(seed) for seed in range(5)], 1),
        ([graph_of(drop=True)], 10),
    ],
    ids=["heads", "networks", "dropout"],
)
def test_members_are_averaged(graphs: list[Graph], passes: int, kept: Path, tmp_path: Path) -> None:
    x = pictures(6)
    firmware = Firmware("f", graphs, passes)
    ran = emulate(build(firmware, BIG, tmp_path / "build", kept=kept), x.tobytes())
    networks = [Network(graph, seed=SEED) for graph in graphs]
    for line, one in zip(ran.lines, x, strict=True):
        total = np.zeros(CLASSES, np.int64)
        for _ in range(passes):
            for network in networks:
                found = network.run(one[None])
                total += sum(found[name][0].astype(np.int64) + 128 for name in posteriors(network.graph))
        mean = (total + firmware.members // 2) // firmware.members - 128
        assert line.split()[2] == mean.astype(np.int8).tobytes().hex()


def decisions(rule: Rule, rows: np.ndarray, kept: Path, folder: Path) -> np.ndarray:
    """Return label and score of every step, from a firmware without a network."""
    image = build(Firmware("f", rule=rule, shape=(CLASSES, 0)), SMALL, folder / "build", kept=kept)
    return np.array(
        [[int(word) for word in line.split()[-2:]] for line in emulate(image, rows.tobytes()).lines]
    )


def test_the_conformal_rule_is_that_of_python(kept: Path, tmp_path: Path) -> None:
    rows = made_stream(CLASSES, 0, 200)
    u = rows.astype(int) + 128
    clean = made_stream(CLASSES, 0, 99, seed=1).astype(int).max(axis=1) + 128
    found = decisions(Conformal(clean.tolist()), rows, kept, tmp_path)
    expected = 1 - p_values(np.sort(1 - clean / 256), 1 - u.max(axis=1) / 256)
    assert (found[:, 0] == u.argmax(axis=1)).all()
    assert np.abs(found[:, 1] / 65536 - expected).max() < 1 / 65536
    assert len(set(found[:, 1].tolist())) > 20


@pytest.mark.parametrize(("last", "weight"), [(1, 0.02), (5, 0.02), (9, 1.0)])
def test_the_vote_is_that_of_python(last: int, weight: float, kept: Path, tmp_path: Path) -> None:
    rows = made_stream(CLASSES, 0, 200)
    probs = (rows.astype(float) + 128) / 256
    found = decisions(Vote(last, weight), rows, kept, tmp_path)
    seen = Observed(probs, np.zeros((200, 0)), {}, np.zeros(200, np.int64))
    expected = PythonVote().score(seen, {"last": last, "weight": weight}).score
    assert (found[:, 0] == probs.argmax(axis=1)).all()
    # Rounded down twice, the weight rounded, and the sum held below 1.
    assert np.abs(found[:, 1] / 65536 - np.minimum(expected, 65535 / 65536)).max() < 4 / 65536


def test_counts_repeat_to_the_instruction(kept: Path, tmp_path: Path) -> None:
    """Twice in blocks and once instruction by instruction."""
    rows = made_stream(CLASSES, FEATURES, 50)
    firmware = Firmware("f", rule=Watch(bench.monitors()["paper"]), shape=(CLASSES, FEATURES))
    image = build(firmware, SMALL, tmp_path / "build", kept=kept)
    runs = [
        emulate(image, rows.tobytes(), counted=True, kept=kept, singly=singly)
        for singly in (False, False, True)
    ]
    counts = [run.counts["rule"].instructions for run in runs]
    assert counts[0] == counts[1] == counts[2] and len(counts[0]) == 50 and len(set(counts[0])) > 5
    totals = [sum(length * times for _, length, times in run.counts["rule"].blocks) for run in runs]
    # The blocks also hold the call of the mark behind each step, and of the pair with nothing between.
    assert totals == [sum(counts[0]) + 51] * 3


def test_the_plugin_also_counts_a_whole_program(kept: Path, tmp_path: Path) -> None:
    """As counts of x86-64 on other machines use it: everything, reset and harness included."""
    rows = made_stream(CLASSES, FEATURES, 20)
    image = build(Firmware("f", shape=(CLASSES, FEATURES)), SMALL, tmp_path / "build", kept=kept)
    (tmp_path / "input.bin").write_bytes(rows.tobytes())
    command = [
        path_of("qemu-system-arm"),
        "-M",
        SMALL.emulated.machine,
        "-display",
        "none",
        "-kernel",
        image.path,
    ]
    command += ["-semihosting-config", "enable=on,target=native", "-plugin", plugin(kept)]
    runs = [
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60) for _ in range(2)
    ]
    totals = [int(run.stderr.split()[-1]) for run in runs]
    counts = emulate(image, rows.tobytes(), counted=True, kept=kept).counts
    assert totals[0] == totals[1] > sum(sum(each.instructions) for each in counts.values())


def test_counts_are_those_of_the_listing(kept: Path, tmp_path: Path) -> None:
    """Without a network its part is straight code, which can be read off the disassembly."""
    image = build(Firmware("f", shape=(CLASSES, FEATURES)), SMALL, tmp_path / "build", kept=kept)
    ran = emulate(image, made_stream(CLASSES, FEATURES, 3).tobytes(), counted=True, kept=kept)
    text = call("arm-none-eabi-objdump", ["-d", "--no-show-raw-insn", image.path])
    blocks = {part.split(">:")[0].split("<")[-1]: part.splitlines()[1:] for part in text.split("\n\n")}
    lines = [line for line in blocks["network_run"] if ":\t" in line]
    # What follows the return only fills up to the next function.
    inside = 1 + next(number for number, line in enumerate(lines) if "bx\tlr" in line)
    body = [line for line in blocks["main"] if ":\t" in line]
    calls = [
        number for number, line in enumerate(body) if "<network_begin>" in line or "<network_end>" in line
    ]
    _, _, begin, end = calls
    assert ran.counts["network"].instructions == [inside + end - begin - 1] * 3


def test_the_stack_is_measured(kept: Path) -> None:
    """The watermark is no less than what the compiler says that one frame of the monitor takes."""
    shape = (CLASSES, FEATURES)
    rows = made_stream(*shape, 20)
    watched, _ = measure(
        Firmware("w", rule=Watch(bench.monitors()["paper"]), shape=shape), SMALL, rows, kept=kept
    )
    bare, _ = measure(Firmware("b", shape=shape), SMALL, rows, kept=kept)
    assert 0 < bare["ram"]["stack"] < 160 < watched["ram"]["stack"] < SMALL.stack_bytes
    assert watched["ram"]["total"] == watched["ram"]["zeroed"] + watched["ram"]["stack"]


def test_a_stack_that_is_used_up_is_refused(kept: Path) -> None:
    shape = (CLASSES, FEATURES)
    firmware = Firmware("w", rule=Watch(bench.monitors()["paper"]), shape=shape)
    rows = made_stream(*shape, 3)
    depth = measure(firmware, SMALL, rows, kept=kept)[0]["ram"]["stack"]
    with pytest.raises(ValueError, match=f"is {depth} bytes deep or more; less than {depth} is accepted"):
        measure(firmware, replace(SMALL, stack_bytes=depth), rows, kept=kept)


def test_estimates_are_labeled_and_ordered(kept: Path, tmp_path: Path) -> None:
    rows = made_stream(CLASSES, FEATURES, 20)
    firmware = Firmware("f", rule=Watch(bench.monitors()["paper"]), shape=(CLASSES, FEATURES))
    for on in (SMALL, BIG, board("microbit")):
        image = build(firmware, on, tmp_path / on.name, kept=kept)
        ran = emulate(image, rows.tobytes(), counted=True, kept=kept)
        found = cycles(image, ran.counts["rule"])
        mean = sum(ran.counts["rule"].instructions) / 20
        if on.cycles is None:
            assert found is None
            continue
        assert found is not None and found["estimate"] is True
        if on is SMALL:
            assert 0.9 * mean < found["least"] < found["most"] < 4 * mean
            assert found["milliseconds"][0] == pytest.approx(found["least"] / 80e3)
            assert found["microjoules"][1] == pytest.approx(found["most"] * 84e-12 * 3.3 * 1e6)
        else:
            assert found["least"] == pytest.approx(mean / 2) and found["most"] is None
            assert "microjoules" not in found


def test_a_pair_that_is_none_is_refused() -> None:
    more, less = ({"firmware": n, "flash": {"total": n}, "ram": {"total": 1}} for n in (2, 1))
    assert overhead(more, less) == {"flash": 1, "ram": 0}
    with pytest.raises(ValueError, match="flash of 1 and 2 differs by -1 bytes; 0 or more is accepted"):
        overhead(less, more)


def test_inputs_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="inputs have 9 bytes; 42 are needed by f"):
        measure(Firmware("f", shape=(10, 32)), SMALL, np.zeros((3, 9), np.int8))


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    found = bench.bench_monitors(["stm32l432kc"], 100, ("-Os", "-O2"), only=["paper"])
    return {**found, "goals": bench.goals(found)}


def test_the_paper_profile_meets_its_goals(measured: dict[str, Any]) -> None:
    for held in measured["goals"]:
        for name, most in bench.GOALS.items():
            value = held[name][0]
            print(f"{held['level']} {name}: {value:,.0f} of {most:,}")
            assert value <= most, (held["level"], name)
    assert len(measured["goals"]) == 2


def test_what_monitors_cost(measured: dict[str, Any]) -> None:
    for entry in measured["measured"]:
        assert entry["overhead"]["flash"] > 1000 and entry["overhead"]["ram"] >= 100
        assert entry["alone"]["flash"] >= entry["overhead"]["flash"]
        counts = entry["step"]["instructions"]
        assert counts["steps"] == 100 and counts["least"] <= counts["median"] <= counts["most"]
    text = render(measured)
    assert text.count("stm32l432kc") == 2 + 2 and "MISSED" not in text


def test_growth_is_found(measured: dict[str, Any]) -> None:
    assert grown(measured, measured) == []
    after = copy.deepcopy(measured)
    after["measured"][0]["flash"]["code"] *= 1.021
    after["measured"][0]["step"]["instructions"]["mean"] *= 1.019
    after["measured"][1]["step"]["instructions"]["mean"] *= 1.021
    said = grown(measured, after)
    assert len(said) == 2 and "code bytes" in said[0] and "step instructions" in said[1]
    assert grown(after, measured) == [], "what shrinks is welcome"


def test_the_command_stores_and_checks(
    measured: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "bench_monitors", lambda *_, **__: copy.deepcopy(measured))
    where = ["--results", str(tmp_path)]
    assert main(["device", "bench", *where]) == 0
    assert load(tmp_path / FILE)["measured"] == measured["measured"]
    assert main(["device", "bench", "--check", *where]) == 0
    stored = copy.deepcopy(measured)
    stored["measured"][0]["flash"]["code"] //= 2
    save(stored, tmp_path / FILE)
    capsys.readouterr()
    assert main(["device", "bench", "--check", *where]) == 1
    assert capsys.readouterr().err.count("grown: ") == 1
    save({**stored, "compiler": "another"}, tmp_path / FILE)
    assert main(["device", "bench", "--check", *where]) == 0
    assert "not compared: " in capsys.readouterr().err
    for text, said in [
        (b"{}", "a result file of tcuq device is needed"),
        (b'{"format": "tcuq-device"}', "lacks 'compiler'; a result file of tcuq device is needed"),
        (b"\xff", "monitors.json: not JSON: "),
    ]:
        (tmp_path / FILE).write_bytes(text)
        assert main(["device", "bench", "--check", *where]) == 2
        assert said in capsys.readouterr().err


def test_what_was_stored_is_of_every_board() -> None:
    """The figures of the repository; the check itself is a command, since compilers differ."""
    content = load(ROOT / RESULTS / FILE)
    assert content["compiler"] and content["emulator"]
    found = {(entry["board"], entry["name"], entry["level"]) for entry in content["measured"]}
    assert len(found) == 3 * len(bench.monitors()) * len(bench.LEVELS)
    assert json.dumps(content, allow_nan=False)


def test_a_table_of_every_method(kept: Path) -> None:
    """Random networks: five of one kind, with heads, with dropout; one task whose networks are too large."""
    clean = (made_stream(CLASSES, 0, 50).astype(int).max(axis=1) + 128).tolist()
    monitors = bench.monitors()
    sets = {
        "plain": [graph_of(seed) for seed in range(5)],
        "exits": [graph_of(heads=2)],
        "hydra": [graph_of(heads=5)],
        "dropout": [graph_of(drop=True)],
    }
    firmwares = bench.methods(sets, clean, monitors["paper"], monitors["extended"])
    assert list(firmwares) == [
        *("base", "conformal", "vote", "tcuq_paper", "tcuq"),
        *("early_exit", "hydra", "mc_dropout", "deep"),
    ]
    makers = [device_graphs.Maker((600,), seed) for seed in range(5)]
    wide = [make.graph(probs=make.softmax(make.dense("input", 120))) for make in makers]
    large = {"base": Firmware("base", wide[:1]), "deep": Firmware("deep", wide)}
    tasks = {"small": (firmwares, pictures(2)), "large": (large, makers[0].input(1))}
    found = bench.table(tasks, ["stm32l432kc"], steps=20)
    rows = {(entry["task"], entry["firmware"]): entry for entry in found["measured"]}
    assert len(rows) == 11
    small = {name: rows["small", name] for name in firmwares}
    for name in ("conformal", "vote", "tcuq_paper", "tcuq"):
        assert small[name]["overhead"]["flash"] > 0 and small[name]["rule"]["instructions"]["steps"] == 20
        assert small[name]["network"] == small["base"]["network"], "the same network at the same cost"
    passes = (
        small["mc_dropout"]["network"]["instructions"]["mean"]
        / small["base"]["network"]["instructions"]["mean"]
    )
    assert 9.5 < passes < 12 and small["mc_dropout"]["members"] == 10
    assert (
        4.5
        < small["deep"]["network"]["instructions"]["mean"] / small["base"]["network"]["instructions"]["mean"]
        < 5.5
    )
    assert "overhead" not in small["deep"]
    # A network of 72 KB fits the small board, five of them do not: the linker says by how much.
    assert rows["large", "base"]["network"]["instructions"]["steps"] == 1
    deep = rows["large", "deep"]
    assert deep["over"] == {"flash": deep["flash"]["total"] - SMALL.flash_bytes} and "network" not in deep
    assert deep["said"].startswith("deep is too large for STM32L432KC: flash over by ")


def test_levels_reach_the_compiler(kept: Path, tmp_path: Path) -> None:
    firmware = Firmware("f", rule=Watch(Params(classes=10)), shape=(10, 0))
    sizes = [
        build(firmware, SMALL, tmp_path / level, Levels(rule=level), kept).sizes.code
        for level in ("-Os", "-O3")
    ]
    assert sizes[0] < sizes[1]
