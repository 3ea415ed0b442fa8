"""TFLite Micro with the exported monitor beside it, in emulation, decides as Python does."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from device_emitted import recorded
from places import ROOT
from refusals import refused
from tiny_models import MODELS, bars

import tcuq
from tcuq.base.errors import InputError
from tcuq.export import sources
from tcuq.export.selfcheck import taken
from tcuq.monitor.made import STEP_FIELDS
from tcuq.recording.model import Format
from tcuq.recording.ranges import quantized
from tcuq_device.boards import board
from tcuq_device.emit.application import Application
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import BOARDS, SPLIT, START, memory
from tcuq_device.firmware.decision import FIRMWARE
from tcuq_device.firmware.image import Image, sizes_of
from tcuq_device.tflite.importing import import_model
from tcuq_device.tflite.outputs import OutputChoice
from tcuq_device.tflite.second_output import with_features
from tcuq_device.tools import call, missing

pytest.importorskip("ai_edge_litert", reason="LiteRT is missing: pip install ai-edge-litert")
FOLDER = Path(os.environ.get("TCUQ_TFLM", "")).resolve()
SOURCES = ("tflite-micro", "flatbuffers/include", "gemmlowp", "ruy")
WANTED = "TCUQ_TFLM must name a folder with tflite-micro, flatbuffers (v25.9.23), gemmlowp and ruy"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all((FOLDER / name).is_dir() for name in SOURCES), reason=WANTED),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
STEPS = 200
BOARD = replace(board("stm32l432kc"), stack_bytes=8192)
KERNELS = FOLDER / "tflite-micro" / "tensorflow" / "lite" / "micro" / "kernels"
EXAMPLES = ROOT / "examples" / "runtimes"
OTHERS = ("test", "fake_", "mock_", "recording_", "system_setup", "micro_time", "hexdump", "compression")
FLAGS = [*SPLIT, *BOARD.compiler, "-Os", *(f"-isystem{FOLDER / name}" for name in SOURCES)]
UART = [f"-DUART_{BOARD.emulated.uart[0].upper()}", f"-DUART={BOARD.emulated.uart[1]:#x}u"]
CPP = ["-std=c++17", "-fno-rtti", "-fno-exceptions", "-fno-threadsafe-statics", "-fno-use-cxa-atexit"]
CPP += ["-DTF_LITE_STATIC_MEMORY", "-DTF_LITE_STRIP_ERROR_STRINGS"]
ENDS = r"""
#include "app.h"
#include "harness.h"
#include "harness_step.h"
#include "kws.h"

int read_input(void *input, size_t bytes)
{
    static int open;
    if (open++ == 0) {
        harness_open();
    }
    return harness_read(input, bytes);
}

void act_on(const tcuq_step_t *step)
{
    harness_step(step);
    harness_text("\n");
}

void __real_tcuq_step(tcuq_t *, const int8_t *, const int8_t *, tcuq_step_t *, uint16_t *);
void __wrap_tcuq_step(tcuq_t *state, const int8_t *probs, const int8_t *features, tcuq_step_t *step,
                      uint16_t *signals)
{
    harness_hex((const uint8_t *)probs, KWS_CLASSES);
    harness_hex((const uint8_t *)features, KWS_FEATURES);
    __real_tcuq_step(state, probs, features, step, signals);
}
"""
"""Sensor and actor of the example; what the monitor is given is printed as well."""


def convolutional(content: bytes) -> bytes:
    """Return the model with convolutions of 1 x 1 in place of its fully connected layers."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    graph = model.subgraphs[0]
    codes = [each.builtinCode for each in model.operatorCodes]
    dense, conv = (codes.index(getattr(schema.BuiltinOperator, x)) for x in ("FULLY_CONNECTED", "CONV_2D"))
    changed = [each for each in graph.operators if each.opcodeIndex == dense]
    for step in changed:
        options = schema.Conv2DOptionsT()
        options.padding, options.strideH, options.strideW = schema.Padding.VALID, 1, 1
        options.fusedActivationFunction = step.builtinOptions.fusedActivationFunction
        step.opcodeIndex, step.builtinOptions = conv, options
        step.builtinOptionsType = schema.BuiltinOptions.Conv2DOptions
    shaped = {number for step in changed for number in (*step.inputs[:2], *step.outputs)}
    for number in (*shaped, *graph.outputs):
        rows, values = graph.tensors[number].shape
        graph.tensors[number].shape = np.array([rows, 1, 1, values], np.int32)
        graph.tensors[number].shapeSignature = None
    (target,) = (each.inputs[1] for each in graph.operators if codes[each.opcodeIndex] == 22)  # RESHAPE
    graph.tensors[target].shape = np.array([4], np.int32)
    shape = graph.tensors[changed[0].inputs[0]].shape
    model.buffers[graph.tensors[target].buffer].data = np.frombuffer(shape.tobytes(), np.uint8)
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Compile the core of TFLite Micro and its reference kernels: one file, as all read the same headers."""
    folder, lite = tmp_path_factory.mktemp("runtime"), KERNELS.parents[1]
    (folder / "try.cc").write_text("#include <algorithm>\n")
    try:
        call("arm-none-eabi-g++", ["-fsyntax-only", folder / "try.cc"])
    except InputError:
        pytest.skip("the C++ library is missing: apt-get install libstdc++-arm-none-eabi-newlib")
    patterns = ("*.cc", "*_allocator/*.cc", "*_planner/*.cc", "*_bridge/*.cc")
    found = [each for pattern in patterns for each in KERNELS.parent.glob(pattern)]
    parts = (lite / "core", lite / "kernels", lite / "schema", lite.parent / "compiler")
    found += [each for part in parts for each in part.rglob("*.cc")]
    names = ("conv", "fully_connected", "softmax", "reshape")
    found += [KERNELS / f"{name}{end}.cc" for name in names for end in ("", "_common")]
    found += [KERNELS / "kernel_util.cc"]
    alone = KERNELS / "reshape_common.cc"  # its header has no guard
    kept = {each for each in found if each != alone and not any(word in each.name for word in OTHERS)}
    (folder / "all.cc").write_text("".join(f'#include "{each}"\n' for each in sorted(kept)))
    for file, name in ((folder / "all.cc", "all.o"), (alone, "alone.o")):
        call("arm-none-eabi-g++", [*FLAGS, *CPP, "-c", file, "-o", folder / name])
    return [folder / "all.o", folder / "alone.o"]


def linked(runtime: list[Path], model: bytes, params: tcuq.Params, folder: Path) -> Image:
    """Link the example with the runtime, the exported monitor, and a harness in place of sensor and actor."""
    for name, text in sources(params, "kws", glue="tflm").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    values = ", ".join(map(str, model))
    (folder / "model.h").write_text(f"alignas(16) static const unsigned char model[] = {{{values}}};\n")
    (folder / "harness_ends.c").write_text(ENDS)
    (folder / "memory.ld").write_text(memory(BOARD))
    files = [*folder.glob("kws.c"), *folder.glob("tcuq*.c"), folder / "harness_ends.c", BOARDS / "startup.c"]
    files += [FIRMWARE / "harness.c", FIRMWARE / "harness_step.c"]
    files += [EXAMPLES / "tflm.cc"]
    objects: list[Path | str] = [*runtime]
    for file in files:
        objects.append(f"{file.stem}.o")
        own = ["-std=c99", *START, *UART] if file.suffix == ".c" else [*CPP, "-Wall", "-Wextra", "-Werror"]
        where = [f"-I{path}" for path in (folder, FIRMWARE, EXAMPLES)]
        call("arm-none-eabi-gcc", [*FLAGS, *own, *where, "-c", file, "-o", folder / str(objects[-1])])
    ends = ["-Wl,--gc-sections,--defsym=end=0,--wrap=tcuq_step", "--specs=nano.specs", "--specs=nosys.specs"]
    ends += ["-nostartfiles", "-T", str(BOARDS / "image.ld"), "-lm", "-o", "image.elf"]
    call("arm-none-eabi-g++", [*FLAGS, *objects, *ends], folder)
    return Image(BOARD, folder / "image.elf", sizes_of(folder / "image.elf", BOARD.toolchain))


@pytest.mark.parametrize("layers", ["convolutional", "dense"])
def test_tflite_micro_and_the_monitor_decide_as_python(
    layers: str, runtime: list[Path], tmp_path: Path
) -> None:
    """Every field of every step; LiteRT rounds a fully connected layer once, TFLite Micro twice."""
    content = (MODELS / "int8.tflite").read_bytes()
    path = tmp_path / "model.tflite"
    path.write_bytes(convolutional(content) if layers == "convolutional" else content)
    features = str(with_features(content).tensor)
    x, y = bars(1500, seed=5, noise=0.9)
    x[STEPS // 2 : STEPS] *= 0.5  # faint pictures, so that something happens
    log = tcuq.record(path, x, y, features=features)
    options = tcuq.FitOptions(warmup=20, explain=False, drop_unused=False)
    params = tcuq.fit(log, options=options, run_length=100)
    graph = import_model(path, asked=OutputChoice(features=features)).graph
    given = graph.tensors[graph.input]
    rows, _ = quantized(x[:STEPS].reshape(STEPS, -1), Format(given.scale, given.zero), np.int8)
    assert log.features is not None
    recorded_rows = np.hstack([log.probs, log.features])[:STEPS]

    image = linked(runtime, with_features(path.read_bytes(), features).content, params, tmp_path / "board")
    words = [line.split() for line in emulate(image, rows.tobytes()).lines]
    seen = np.array([np.frombuffer(bytes.fromhex(each[0]), np.int8) for each in words])
    decided = [[int(word) for word in each[1:]] for each in words]
    classes = params.classes
    assert decided == taken(tcuq.Monitor(params), seen[:, :classes], seen[:, classes:])[0].tolist()
    columns = dict(zip(STEP_FIELDS, np.array(decided).T, strict=True))
    assert set(columns["abstain"]) == {0, 1} and len(set(columns["answer"])) > 2
    if layers == "convolutional":
        assert np.array_equal(seen, recorded_rows)
        assert decided == recorded(Application(graph, params, "kws"), rows.reshape(STEPS, *given.shape))
        with refused("failed"):  # a model whose features are no output
            emulate(linked(runtime, path.read_bytes(), params, tmp_path / "bare"), rows.tobytes())
    else:
        off = np.abs(seen.astype(int) - recorded_rows)
        assert 0 < (off != 0).mean() < 0.02 and off.max() <= 2
