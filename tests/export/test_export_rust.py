"""The Rust crate: its own tests, two crates in one program, a build for another target."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cortex import CROSS, need
from exported import FULL, PROJECTION, package

from tcuq import Monitor
from tcuq.export import posteriors, softmax_table

MANIFEST = '[package]\nname = "use"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\n'


def cargo(folder: Path, *arguments: str) -> str:
    tool = need("cargo", "cargo")
    environment = {**os.environ, "CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never"}
    done = subprocess.run(
        [tool, *arguments], cwd=folder, capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crate with everything, whose tests have been built."""
    folder = package(tmp_path_factory.mktemp("rust") / "cam", "rust", "everything", "Cam")
    (folder / "tests").mkdir()
    shutil.copy(Path(__file__).parent / "rust_wrapper.rs", folder / "tests" / "wrapper.rs")
    cargo(folder, "test", "--offline", "--no-run")
    return folder


def test_the_tests_of_the_crate_pass(crate: Path) -> None:
    said = cargo(crate, "test", "--offline")
    assert said.count("test result: ok.") >= 2 and "the_self_check_passes ... ok" in said


@pytest.mark.parametrize("which", ["plain", "gauges"])
def test_a_crate_without_unused_signals_passes_too(which: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "p", "rust", which)
    said = cargo(folder, "test", "--offline", "--lib", "--features", "trim")
    assert "the_self_check_passes ... ok" in said
    if which == "gauges":  # usual gauges, as the example gives them, are no change
        shown = cargo(folder, "run", "--offline", "--quiet", "--example", "watch").splitlines()
        assert len(shown) == 11 and not any("ALARM" in line for line in shown)


def test_a_monitor_that_does_not_fit_is_not_compiled(crate: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(crate, tmp_path / "wrong"))
    glue = folder / "csrc" / "Cam_rust.c"
    glue.write_text(re.sub(r"<= \d+u", "<= 40u", glue.read_text()))
    with pytest.raises(AssertionError, match="tcuq_rust_fits_t"):
        cargo(folder, "build", "--offline")


def test_the_linter_has_nothing_to_say(crate: Path) -> None:
    if shutil.which("cargo-clippy") is None:
        pytest.skip("cargo-clippy is missing: apt-get install rust-clippy")
    cargo(crate, "clippy", "--offline", "--all-targets", "--", "-D", "warnings")


PROGRAM = """
use tcuq_cam::{project, softmax, Monitor, CLASSES, NAMES, WIDE_FEATURES};

fn main() {
    tcuq_match::selfcheck(&mut [0; tcuq_match::RING_WORDS]).unwrap();
    tcuq_cam::selfcheck(&mut [0; tcuq_cam::RING_WORDS]).unwrap();
    let mut small = tcuq_match::Monitor::new().unwrap();
    println!("{} {}", small.step(&[-128, -128, -128, 127, -128]).prediction, NAMES[3]);
    let mut monitor = Monitor::new().unwrap();
    for i in 0..STEPSusize {
        let logits: [i8; CLASSES] = core::array::from_fn(|k| (i * i * 37 + k * k * 53) as u8 as i8);
        let wide: [i8; WIDE_FEATURES] = core::array::from_fn(|k| (i * 11 + k * k * 7) as u8 as i8);
        let said = monitor.step(&softmax(&logits), &project(&wide));
        let bits = [said.flagged, said.abstain, said.alarm, said.warming_up, said.low_mass].map(u8::from);
        println!(
            "{} {} {} {} {} {} {} {} {} {} {:?}",
            said.answer, said.prediction, said.risk, said.uncertainty, said.threshold, said.degradation,
            said.persistence, said.novelty, said.expected_accuracy, said.reason.unwrap_or(255), bits
        );
    }
}
"""


def expected(steps: int) -> list[str]:
    """Return what Python says of the stream that the program makes."""
    i, k = np.arange(steps)[:, None], np.arange(FULL.classes)
    logits = (i * i * 37 + k * k * 53).astype(np.uint8).view(np.int8)
    k = np.arange(PROJECTION.inputs)
    wide = (i * 11 + k * k * 7).astype(np.uint8).view(np.int8)
    said = Monitor(FULL).run(posteriors(logits, softmax_table(0.12)), PROJECTION(wide))
    numbers = [said["answer"], said["prediction"]]
    numbers += [said[field] * 65536 for field in ("risk", "uncertainty", "threshold", "degradation")]
    numbers += [said[field] * 65536 for field in ("persistence", "novelty", "expected_accuracy")]
    numbers += [said["reason"]]
    flags = [said[field] != 0 for field in ("flagged", "abstain", "alarm", "warming_up", "low_mass")]
    return [
        " ".join(str(int(column[step])) for column in numbers)
        + f" [{', '.join(str(int(flag[step])) for flag in flags)}]"
        for step in range(steps)
    ]


def test_two_crates_in_one_program(tmp_path: Path) -> None:
    # `match` is a word of Rust's own.
    package(tmp_path / "match", "rust", "plain", "match")
    package(tmp_path / "cam", "rust", "everything", "Cam")
    use = tmp_path / "use"
    (use / "src").mkdir(parents=True)
    (use / "Cargo.toml").write_text(
        MANIFEST + 'tcuq_match = { path = "../match" }\ntcuq_cam = { path = "../cam" }\n'
    )
    (use / "src" / "main.rs").write_text(PROGRAM.replace("STEPS", "200"))
    first, *said = cargo(use, "run", "--offline", "--quiet").splitlines()
    assert first == "3 n2\\"
    wanted = expected(200)
    assert said == wanted
    assert len({line.split("[")[1] for line in wanted}) >= 3  # a stream on which something happens


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("target", "atomic", "expected"),
    [("thumbv7em-none-eabihf", "8,16,32,ptr", "VFP registers"), ("thumbv6m-none-eabi", "", "v6S-M")],
)
def test_the_c_is_built_for_a_cortex_m(tmp_path: Path, target: str, atomic: str, expected: str) -> None:
    # The core library of Rust for that target may be missing; the build script runs without it.
    rustc = need("rustc", "rustc")
    readelf = need("arm-none-eabi-readelf", CROSS)
    folder = package(tmp_path / "p", "rust", "plain")
    subprocess.run(
        [rustc, "--edition", "2021", "build.rs", "-o", tmp_path / "script"], cwd=folder, check=True
    )
    known = {"TARGET": target, "HOST": "x86_64-unknown-linux-gnu", "OUT_DIR": str(tmp_path), "OPT_LEVEL": "z"}
    cfg = {"CARGO_CFG_TARGET_OS": "none", "CARGO_CFG_TARGET_HAS_ATOMIC": atomic}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CC", "AR", "CFLAGS"))}
    done = subprocess.run(
        [tmp_path / "script"],
        cwd=folder,
        env={**clean, **known, **cfg},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "cargo:rustc-link-lib=static=tcuq_kws\n" in done.stdout
    listed = subprocess.run([readelf, "-A", "-s", tmp_path / "libtcuq_kws.a"], capture_output=True, text=True)
    assert expected in listed.stdout
    # The one static buffer of the self-check is there only where atomic operations can guard it.
    assert bool("tcuq_check_saved" in listed.stdout or "tcuq_check_bytes" in listed.stdout) == bool(atomic)
