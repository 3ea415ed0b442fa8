"""The glue for other runtimes decides as Python does; the runtimes are stand-ins (tests/c/runtimes.h)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from cortex import need
from places import ROOT
from refusals import refused

from tcuq import Monitor, Params
from tcuq.export import export, integer_projection, posteriors, softmax_table, sources
from tcuq.export.generated import RUNTIMES
from tcuq.export.selfcheck import taken
from tcuq.log.quantize import quantize_features, quantize_probs
from tcuq.monitor.made import STEP_FIELDS

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Wno-unused", "-O1"]
SANE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLOATS = ("edge-impulse", "executorch", "emlearn")
HEADERS = """tensorflow/lite/micro/micro_interpreter.h tensorflow/lite/micro/micro_mutable_op_resolver.h
model.h edge-impulse-sdk/classifier/ei_run_classifier.h executorch/runtime/executor/method.h network.h
network_data.h tvmgen_default.h eml_net.h"""
ENDS = f"""
#include <stdio.h>
#include "app.h"
int read_input(void *input, size_t bytes) {{ return fread(input, 1, bytes, stdin) == bytes; }}
void act_on(const tcuq_step_t *step) {{ printf("{"%ld " * len(STEP_FIELDS)}\\n",
    {", ".join(f"(long)step->{field}" for field in STEP_FIELDS)}); }}
"""
CALLED = """#include "{}"
int main() {{ executorch::runtime::Method method; return watch(method, floats_in, sizeof floats_in); }}
"""
COEF = {"divergence": 1.5, "instability": 2.0, "flips": 1.0, "doubt": 3.0}
PARAMS = Params(classes=3, features=4, feature_scale=0.037, feature_zero_point=-11, coef=COEF, warmup=10)


@pytest.mark.parametrize("runtime, logits", [*((name, None) for name in RUNTIMES), ("microtvm", 0.08)])
def test_the_example_decides_as_python(runtime: str, logits: float | None, tmp_path: Path) -> None:
    params = Params(classes=3, warmup=10) if runtime == "edge-impulse" else PARAMS
    draw = np.random.default_rng(4)
    probs = draw.dirichlet((0.6, 0.5, 0.4), 200).astype(np.float32)
    features = draw.normal(0, 3, (200, params.features)).astype(np.float32)
    rows = quantize_probs(probs), quantize_features(features, params.feature_scale, params.feature_zero_point)
    seen = rows[0] if logits is None else posteriors(rows[0], softmax_table(logits))
    wanted = taken(Monitor(params), seen, rows[1])[0].tolist()

    files = export(params, tmp_path / "kws", "kws", logits_scale=logits, glue=runtime)
    for name in HEADERS.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        guarded = (
            f"#pragma once\n#define CLASSES 3\n#define FEATURES {params.features}\n#define SCALE 0.037f\n"
        )
        (tmp_path / name).write_text(f'{guarded}#include "runtimes.h"\n')
    (source,) = (ROOT / "examples" / "runtimes").glob(f"{runtime.replace('-', '_')}.c*")
    (tmp_path / "ends.c").write_text(ENDS)
    if runtime == "executorch":
        (tmp_path / "called.cc").write_text(CALLED.format(source))
        source = tmp_path / "called.cc"
    folders = [f"-I{each}" for each in (tmp_path, tmp_path / "kws", source.parent, ROOT / "tests" / "c")]
    folders.append(f"-I{ROOT / 'examples' / 'runtimes'}")
    core = [
        each for each in files if each.suffix == ".c" and each.parent.name == "kws" and each.name != "main.c"
    ]
    language = "-std=c++17" if source.suffix == ".cc" else "-std=c99"
    command = [need("g++" if source.suffix == ".cc" else "gcc", "g++"), *STRICT, *SANE, *folders]
    subprocess.run([*command, language, "-c", source, "-o", tmp_path / "run.o"], check=True)
    parts = [need("gcc", "gcc"), *SANE, *folders, "-c", *core, tmp_path / "ends.c"]
    subprocess.run(parts, check=True, cwd=tmp_path)
    subprocess.run([*command, *tmp_path.glob("*.o"), "-lm", "-o", tmp_path / "run"], check=True)
    given = np.hstack([probs, features] if runtime in FLOATS else rows)
    done = subprocess.run([tmp_path / "run"], input=given.tobytes(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [[*map(int, line.split())] for line in done.stdout.splitlines()] == wanted


def test_glue_that_cannot_work_is_refused() -> None:
    with refused("conflict"):
        sources(PARAMS, glue="edge-impulse")
    with refused("conflict"):
        sources(PARAMS, form="rust", glue="tflm")
    with refused("unknown"):
        sources(PARAMS, glue="tflmm")
    wide = integer_projection(np.ones((8, 4)), np.zeros(4), 0.1, 0, PARAMS)
    with refused("conflict"):
        sources(PARAMS, projection=wide, glue="tflm")
    texts = sources(PARAMS, "kws", "zephyr", glue="tflm")
    assert "include/kws_tflm.h" in texts and "include/kws_tflm.h" in texts["README.md"]
