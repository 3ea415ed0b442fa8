"""The Rust crate: its own tests, two crates in one program, a build for another target."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cortex import CROSS, need
from exported import package

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
    cargo(folder, "test", "--offline", "--no-run", "--features", "trim")
    return folder


def test_the_tests_of_the_crate_pass(crate: Path) -> None:
    said = cargo(crate, "test", "--offline", "--features", "trim")
    assert said.count("test result: ok.") >= 2 and "structs_lie_in_memory_as_in_c ... ok" in said
    assert "the_self_check_passes ... ok" in said


def test_a_wrong_layout_is_found(crate: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(crate, tmp_path / "wrong"))
    text = (folder / "src" / "sys.rs").read_text()
    (folder / "src" / "sys.rs").write_text(
        text.replace("pub head: u8,\n    pub fill: u8,", "pub fill: u8,\n    pub head: u8,")
    )
    with pytest.raises(AssertionError, match=r"structs_lie_in_memory_as_in_c \.\.\. FAILED"):
        cargo(folder, "test", "--offline", "--lib", "--features", "trim")


def test_the_linter_has_nothing_to_say(crate: Path) -> None:
    if shutil.which("cargo-clippy") is None:
        pytest.skip("cargo-clippy is missing: apt-get install rust-clippy")
    cargo(crate, "clippy", "--offline", "--all-targets", "--features", "trim", "--", "-D", "warnings")


def test_two_crates_in_one_program(tmp_path: Path) -> None:
    # `match` is a word of Rust's own.
    package(tmp_path / "match", "rust", "plain", "match")
    package(tmp_path / "cam", "rust", "everything", "Cam")
    use = tmp_path / "use"
    (use / "src").mkdir(parents=True)
    (use / "Cargo.toml").write_text(
        MANIFEST + 'tcuq_match = { path = "../match" }\ntcuq_cam = { path = "../cam" }\n'
    )
    (use / "src" / "main.rs").write_text(
        "fn main() {\n    tcuq_match::selfcheck(&mut [0; tcuq_match::RING_WORDS]).unwrap();\n"
        "    tcuq_cam::selfcheck(&mut [0; tcuq_cam::RING_WORDS]).unwrap();\n"
        "    let mut monitor = tcuq_match::Monitor::new().unwrap();\n"
        "    let step = monitor.step(&[127, -128, -128, -128, -128]);\n"
        "    let other = tcuq_cam::Monitor::new().unwrap().step(\n"
        "        &tcuq_cam::softmax(&[0, 0, 0, 90, 0, 0, 0]),\n"
        "        &tcuq_cam::project(&[1; tcuq_cam::WIDE_FEATURES]),\n    );\n"
        '    println!("{} {} {}", step.label, other.label, tcuq_cam::NAMES[3]);\n}\n'
    )
    assert cargo(use, "run", "--offline", "--quiet") == "0 3 n2\\\n"


@pytest.mark.parametrize(
    ("target", "atomic", "expected"),
    [
        ("thumbv7em-none-eabihf", "8,16,32,ptr", "VFP registers"),
        ("thumbv6m-none-eabi", "", "v6S-M"),
    ],
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
    assert bool("tcuq_check_saved" in listed.stdout or "bytes." in listed.stdout) == bool(atomic)
