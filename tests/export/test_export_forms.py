"""Every form of a package: the same C, a self-check that passes, an example, a page, a version."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from avr import on_avr
from cortex import need
from exported import LIBRARIES, PLAIN, contents_of, files_of, package
from places import CORE_SOURCES, ROOT
from refusals import refused

from tcuq import Params
from tcuq.export import FORMS, export, sources
from tcuq.export import contents as contents_module
from tcuq.export.contents import build_mask, release_of
from tcuq.export.package import put
from tcuq_device.cost import stock

HERE = ROOT / "tests" / "c"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
EXAMPLES = {
    "c": "main.c",
    "arduino": "examples/Watch/Watch.ino",
    "platformio": "examples/native/src/main.c",
    "zephyr": "samples/watch/src/main.c",
    "espidf": "examples/watch/main/watch_main.c",
    "cmake": "examples/watch.c",
    "micropython": "examples/watch.py",
    "rust": "examples/watch.rs",
}
STAND_INS = {
    "zephyr": [f"-I{HERE / 'zephyr'}"],
    "espidf": [f"-I{HERE / 'freertos'}", str(HERE / "freertos" / "main.c")],
}
"""What a computer lacks of a platform, for its example."""
each_form = pytest.mark.parametrize("form", FORMS)
each_pair = pytest.mark.parametrize("which", LIBRARIES)

CHECK = """
#include <stdio.h>
#include "{name}.h"
#include "{name}_selfcheck.h"
static uint32_t ring[{macro}_RING_BYTES / 4u];
int main(void) {{ int status = {name}_selfcheck(ring, sizeof ring);
printf(status ? "self-check failed\\n" : "self-check passed\\n"); return status != 0; }}
"""


@each_form
@each_pair
def test_every_form_is_the_same_c_with_a_page_and_a_version(form: str, which: str) -> None:
    texts, plain = files_of(form, which), files_of("c", which)
    for file, text in plain.items():
        if file not in ("main.c", "README.md", "examples/send_frames.c"):
            assert texts[FORMS[form].place(file)] == text
    assert "selfcheck" in texts[EXAMPLES[form]]
    page = texts["README.md"]
    assert contents_module.VERSION in page and "selfcheck()` tells you" in page
    assert not any(re.search(r"@\w*@", text) for text in texts.values())
    described = {
        file for row in re.findall(r"^\| (`.*?`) \|", page, re.M) for file in row.strip("`").split("`, `")
    }
    assert described == set(texts) - {"README.md"}


@each_form
def test_the_c_of_every_form_compiles_and_passes_its_self_check(tmp_path: Path, form: str) -> None:
    compiler = need("cc", "gcc")
    folder = package(tmp_path / "p", form, "everything")
    contents, place = contents_of("everything"), FORMS[form].place
    include = sorted({f"-I{file.parent}" for file in folder.rglob("*.h")})
    compiled = [str(folder / place(file)) for file in contents.sources]
    example = folder / EXAMPLES[form]
    if example.suffix != ".c":
        example = tmp_path / "check.c"
        example.write_text(CHECK.format(name="kws", macro="KWS"))
    extra = STAND_INS.get(form, [])
    program = str(tmp_path / "program")
    command = [compiler, *STRICT, *include, *extra, str(example), *compiled, "-o", program]
    subprocess.run(command, check=True)
    done = subprocess.run([program], input="", capture_output=True, text=True)
    assert done.returncode == 0 and (form == "c" or done.stdout.startswith("self-check passed\n"))
    if EXAMPLES[form].endswith(".c") and form != "c":
        assert len(re.findall("^0 first (?:act|ask|hold)( ALARM)?$", done.stdout, re.M)) == 10


@each_form
def test_a_package_of_another_form_is_not_mixed_with_this_one(tmp_path: Path, form: str) -> None:
    folder, texts = tmp_path / "p", files_of(form, "plain")
    assert {FORMS[form].place("tcuq.h"), FORMS[form].manifest} <= set(texts)
    put(texts, folder, form=FORMS[form])
    (folder / "idf_component.yml").touch()  # of the user
    put(texts, folder, force=True, form=FORMS[form])
    if form != "espidf":
        (folder / "idf_component.yml").unlink()
    for other in FORMS:
        if other == form:
            continue
        for force in (False, True):
            with refused("exists"):
                put(files_of(other, "plain"), folder, force, FORMS[other])
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} == set(texts)


def test_the_micropython_module_compiles_for_a_declared_interpreter(tmp_path: Path) -> None:
    # The module itself was run in MicroPython (docs/EXPORT.md); this finds what a change of the text breaks.
    for which in LIBRARIES:
        folder = package(tmp_path / which, "micropython", which)
        module = (folder / "modtcuq_kws.c").read_text()
        names = sorted(set(re.findall(r"\bMP_QSTR_\w+", module)))
        (tmp_path / "qstrs.h").write_text("enum {" + ", ".join(names) + "};\n")
        include = [f"-I{path}" for path in (HERE / "micropython", tmp_path, folder / "src")]
        strict = [flag for flag in STRICT if flag != "-Wconversion"]
        command = [need("cc", "gcc"), *strict, *include, "-fsyntax-only", str(folder / "modtcuq_kws.c")]
        subprocess.run(command, check=True)
        compile((folder / "examples" / "watch.py").read_text(), "watch.py", "exec")


def test_makefiles_of_two_micropython_modules_name_every_file_once(tmp_path: Path) -> None:
    make = need("make", "make")
    for which, name in (("plain", "core"), ("everything", "Cam")):
        package(tmp_path / name, "micropython", which, name)
    (tmp_path / "Makefile").write_text(
        "".join(
            f"USERMOD_DIR := {tmp_path / name}\ninclude {tmp_path / name}/micropython.mk\n"
            for name in ("core", "Cam")
        )
        + "all:\n\t@echo $(SRC_USERMOD_C) $(SRC_USERMOD_LIB_C)\n\t@echo $(CFLAGS_USERMOD)\n"
    )
    out = subprocess.run([make, "-s"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    named = [Path(file) for file in out.splitlines()[0].split()]
    assert all(file.is_file() for file in named)
    basenames = [file.name for file in named]
    assert len(basenames) == len(set(basenames)) and {"tcuq.c", "tcuq_softmax.c", "core.c", "Cam.c"} <= set(
        basenames
    )


@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("platformio", name) for name in ("Serial", "read_model", "send_frame")),
        *(("cmake", name) for name in ("watch_params", "a_watch", "a_frames")),
        *(("zephyr", name) for name in ("printk", "k_monitor", "a_trim")),
        *(("espidf", name) for name in ("app_main", "esp_camera")),
        *(("micropython", name) for name in ("mp_camera", "check")),
        ("rust", "a_rust"),
    ],
)
def test_names_that_a_platform_has_taken(tmp_path: Path, form: str, name: str) -> None:
    with refused("value"):
        export(PLAIN, tmp_path / "p", name, form=form)
    assert not (tmp_path / "p").exists()
    export(PLAIN, tmp_path / "p", name)


@pytest.mark.parametrize("version", ["0.3.0.dev4", "0.3.0rc1", "0.3.0a2.dev1", "2.0"])
def test_versions_are_valid_in_every_manifest(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(contents_module, "VERSION", version)
    semver = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?(\+[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?")
    found = {
        "Cargo.toml": (files_of("rust", "plain"), r'(?m)^version = "(.*)"$', semver),
        "library.properties": (files_of("arduino", "plain"), r"(?m)^version=(.*)$", semver),
        "library.json": (files_of("platformio", "plain"), r'"version": "(.*)"', semver),
        "idf_component.yml": (files_of("espidf", "plain"), r'(?m)^version: "(.*)"$', semver),
        "CMakeLists.txt": (files_of("cmake", "plain"), r"VERSION (\S+) DESC", re.compile(r"\d+\.\d+\.\d+")),
    }
    for file, (texts, pattern, allowed) in found.items():
        (said,) = re.findall(pattern, texts[file])
        assert allowed.fullmatch(said), (file, said)
        assert said.split("-")[0].split("+")[0] == release_of(version)


def test_a_class_name_of_any_script_reaches_rust() -> None:
    names = ['a "b"', "Köln", "猫\\", "{}"]
    text = sources(Params(classes=4, names=names), form="rust")["src/lib.rs"]
    assert text.isascii()
    said = re.findall(r"^    \"(.*)\",$", text, re.M)
    decode = [re.sub(r"\\u\{(\w+)\}", lambda found: chr(int(found[1], 16)), each) for each in said]
    assert [re.sub(r"\\(.)", r"\1", each) for each in decode] == names


def test_esp_idf_takes_the_name_of_a_component_from_the_folder() -> None:
    said = FORMS["espidf"].hints(contents_of("plain", "Kws"), "some/firmware")
    assert said[0] == "name the folder tcuq_kws: ESP-IDF takes the name of a component from it"
    assert len(FORMS["espidf"].hints(contents_of("plain", "Kws"), "some/tcuq_kws")) == len(said) - 1


AVR_CHECK = """
#include "kws.h"
#include "kws_selfcheck.h"
static uint32_t ring[KWS_RING_BYTES / 4u];
static int check(void) { return kws_selfcheck(ring, sizeof ring); }
"""


def test_the_self_check_passes_on_an_emulated_avr(tmp_path: Path) -> None:
    folder = package(tmp_path / "p", "arduino", "plain")
    assert "check 0." in on_avr(tmp_path, AVR_CHECK, sorted((folder / "src").glob("*.c")))


AVR_STEPS = """
#include "kws.h"
static uint32_t ring[KWS_RING_BYTES / 4u];
static tcuq_t monitor;
static int check(void)
{
    int8_t probs[KWS_CLASSES], features[KWS_FEATURES];
    tcuq_step_t out;
    uint8_t t, i;
    int status = tcuq_init(&monitor, &kws, ring, sizeof ring);
    for (t = 0; t < 60 && status == TCUQ_OK; t++) {
        for (i = 0; i < KWS_CLASSES; i++) probs[i] = (int8_t)(i == t / 7 % KWS_CLASSES ? 60 - t : -120);
        for (i = 0; i < KWS_FEATURES; i++) features[i] = (int8_t)(t * i);
        tcuq_step(&monitor, probs, features, &out, NULL);
        status = tcuq_verify(&monitor);
    }
    return status;
}
"""


def test_a_standard_monitor_stays_valid_on_an_emulated_avr(tmp_path: Path) -> None:
    """With features and evidence that is compared from step to step; its self-check takes minutes there."""
    params = stock.standard("standard, bet")
    export(params, tmp_path / "p", "kws")
    core = [*CORE_SOURCES, tmp_path / "p" / "kws.c"]
    assert "check 0." in on_avr(tmp_path, AVR_STEPS, core, f"-DTCUQ_SIGNALS={build_mask(params)}u")


def test_the_arduino_example_of_platformio_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or need("g++", "g++")
    folder = package(tmp_path / "p", "platformio", "everything")
    include = [f"-I{folder / 'include'}", f"-I{HERE / 'arduino'}"]
    command = [compiler, "-std=gnu++11", "-Wall", "-Wextra", "-Werror", *include, "-fsyntax-only"]
    subprocess.run([*command, str(folder / "examples" / "arduino" / "src" / "main.cpp")], check=True)
