"""The forms of a package: what tells one platform's package from another's. Their files are in templates/."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from ..base.errors import InputError
from ..monitor.made import STEP_FIELDS
from .contents import CORE_PRIVATE, Contents, fill

Fields = dict[str, Any]

_WORDS = {
    "title": "tcuq_@name@",
    "selfcheck": "@name@_selfcheck()",
    "frames": "The header has an example at its top.",
    "platform_headers": "#include <stdio.h>",
    "main": "int main(void)",
    "say": "printf",
    "pause": None,
    "failed": "return 1;",
    "passed": "    return 0;",
}
"""What README.md and the example in C say, unless a platform has its own words."""

_SEND_EXAMPLE = "`examples/send_frames.c` is an example: put your UART where it writes to standard output."
_TWO_FOLDERS = """\
They share the files that begin with `tcuq`. Export each one into a folder of its own, by one
version of tcuq. """


def _c(contents: Contents) -> Fields:
    """Return what a row of the example holds, and what is printed of it."""
    params, width = contents.params, contents.width
    columns = "answer, risk, threshold, abstain, alarm, action"
    columns += ", degradation" if params.evidence or params.sight else ""
    columns += ", expected accuracy" if params.horizon else ""
    columns += " (risk and the like in 1/65536)"
    columns += ", name of the answer" if params.names else ""
    row, features = f"{params.classes} {contents.fields['outputs']}", "NULL"
    if width:
        row += f" and {width} {'wide ' if contents.wide else ''}features"
        features = "features" if contents.wide else f"row + {contents.name.upper()}_CLASSES"
    return {
        "columns": "\n * ".join(textwrap.wrap(columns, 98)),
        "row": row,
        "row_width": params.classes + width,
        "features": features,
        "gauges_out": ", int16_t *gauges" if contents.gauges else "",
        "plus_gauges": f" + {contents.name.upper()}_GAUGES" if contents.gauges else "",
        "and_gauges_text": " and the gauges after them" if contents.gauges else "",
        "then_gauges": f", then {len(contents.gauges)} gauges, -32768 to 32767" if contents.gauges else "",
    }


def _arduino(contents: Contents) -> Fields:
    """Return the words that the editor colors; name and kind are parted by one tab."""
    rows = map(str.split, contents.text("arduino/keywords").splitlines())
    return {"keywords": "".join(f"{word}\t{kind}\n" for kind, *words in rows for word in words)}


def _compiled(row: str) -> Callable[[Contents], Fields]:
    return lambda contents: {"compiled": "".join(row.format(file) for file in contents.sources)}


def _zephyr(contents: Contents) -> Fields:
    libraries = ""
    for part, files in contents.shared.items():
        libraries += f"  if(NOT TARGET tcuq-{part})\n    zephyr_library_named(tcuq-{part})\n"
        libraries += (
            f"    zephyr_library_sources({' '.join(f'../src/{file}' for file in files)})\n  endif()\n"
        )
    return {"libraries": libraries}


def _micropython(contents: Contents) -> Fields:
    params, fields, wide, width = contents.params, contents.fields, contents.wide, contents.width
    make = cmake = ""
    for part, files in contents.shared.items():
        make += contents.text("micropython/shared.mk", part=part.upper(), files=" ".join(files))
        listed = "".join(f"        ${{CMAKE_CURRENT_LIST_DIR}}/src/{file}\n" for file in files)
        cmake += contents.text("micropython/shared.cmake", part=part, files=listed)
    name, softmax = f"tcuq_{contents.name}.name(step.answer)", contents.table is not None
    outputs = f"logits of scale {fields['scale']}" if softmax else "posteriors: scale 1/256, zero point -128"
    return {
        "shared_make": make,
        "shared_cmake": cmake,
        "step_arguments": fields["outputs"]
        + (f", {'wide' if wide else 'features'}" if width else "")
        + fields["and_gauges"],
        "model": "outputs" + ", features" * bool(width) + (fields["and_gauges"] or "," * (not width)),
        "others": params.classes - 1,
        "naming": f"`{name}` names a class." if params.names else "",
        "answer": name if params.names else "step.answer",
        "returned": outputs + ("; and features" if width else ""),
        "features_in": ", mp_obj_t features_in" if width else "",
        "arguments": 3 if width else 2,
        "probs": "probs" if softmax else "given",
        "features": "features" if wide else "read" if width else "NULL",
    }


def _rust(contents: Contents) -> Fields:
    params, fields, wide, width = contents.params, contents.fields, contents.wide, contents.width
    softmax, row = contents.table is not None, f"[i8; {fields['WIDE']}FEATURES]"
    features = f"int8 features {fields['units']}"
    return {
        "through": softmax or wide,
        "compiled": "".join(f'    "{file}",\n' for file in contents.sources),
        "entries": "".join(f"    {rust_string(name)},\n" for name in params.names or ()),
        "and_given": f", and {fields['given']}" if width else "",
        "and_reference": (", &features" if width else "") + (", gauges.as_ref()" if contents.gauges else ""),
        "step_inputs": (f",\n    /// and {features}" if params.features else "")
        + (",\n    /// and gauges; without them the input counts as a clean one" if contents.gauges else ""),
        "features_in": (", features: &[i8; FEATURES]" if params.features else "")
        + (", gauges: Option<&[i16; GAUGES]>" if contents.gauges else ""),
        "said": len(STEP_FIELDS),
        "gauges_pointer": "gauges.map_or(core::ptr::null(), |each| each.as_ptr())"
        if contents.gauges
        else "core::ptr::null()",
        "pointer": "features.as_ptr()" if params.features else "core::ptr::null()",
        "returned": (f"Logits as int8, scale {fields['scale']}" if softmax else "Posteriors as int8")
        + (", and features as int8" if width else ""),
        "type": f"([i8; CLASSES], {row})" if width else "[i8; CLASSES]",
        "model": f"(outputs, {row.replace('i8', '5')})" if width else "outputs",
        "read": "(outputs, features)" if width else "outputs",
        "arguments": ("&softmax(&outputs)" if softmax else "&outputs")
        + (", &project(&features)" if wide else ", &features" if width else "")
        + (f", Some(&[{fields['gauge_means']}])" if contents.gauges else ""),
        "answer": "NAMES[usize::from(step.answer)]" if params.names else "step.answer",
    }


def rust_string(text: str) -> str:
    """Return a text as a Rust string literal of printable ASCII."""
    plain = {sign: sign for sign in map(chr, range(32, 127))} | {'"': r"\"", "\\": r"\\"}
    # Half of a surrogate pair, which JSON can say, is no character.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    shown = "".join(plain.get(sign, "\\u{" + format(ord(sign), "x") + "}") for sign in whole)
    return f'"{shown}"'


@dataclass(frozen=True, eq=False)
class Form:
    """The package of one platform: where the monitor's files go, what is added, which names are taken."""

    name: str
    rows: str  # files that are added, with their templates, and what they are, as README.md lists them
    advice: str  # lines that follow an export
    together: str  # how two monitors come into one program
    words: Mapping[str, str | None] = field(default_factory=dict)
    further: Callable[[Contents], Fields] = lambda contents: {}
    manifest: str = "main.c"  # a file that forms with the same folders have not
    includes: str = "include"  # folder of what programs include
    compiled: str = "src"  # folder of what is compiled
    license: str = "LICENSE"
    platform: str = ""  # whose names these patterns are
    taken: str = ""

    def place(self, file: str) -> str:
        """Return where a file of the monitor goes."""
        public = file.endswith(".h") and file not in CORE_PRIVATE
        folder = self.includes if public else self.compiled
        return self.license if file == "tcuq_LICENSE.txt" else str(PurePosixPath(folder, file))

    def fields(self, contents: Contents) -> Fields:
        """Return everything that its texts may name."""
        own = {**_WORDS, "together": self.together, **self.words}
        words = {name: text and fill(text, contents.fields) for name, text in own.items()}
        answer = f"{contents.name}_names[step.answer]" if contents.params.names else "step.answer"
        return {**contents.fields, "answer": answer, **words, **self.further(contents)}

    def hints(self, contents: Contents, folder: str) -> list[str]:
        """Return the lines that follow an export into a folder."""
        renamed = Path(folder).resolve().name != f"tcuq_{contents.name.lower()}"
        more = {"folder": shlex.quote(folder), "renamed": renamed}
        return fill(self.advice, {**contents.fields, **more}).splitlines()

    def check_name(self, name: str) -> str:
        """Return a name that this platform has not taken; refuse others."""
        for pattern in self.taken.split():
            if fnmatchcase(name, pattern):
                raise InputError(
                    "value", f"name is {name!r}, but {pattern} belongs to {self.platform}; choose another one"
                )
        return name


_WATCH = "read_model watch_params watch_actions"
"""Names that the example in C has at file scope."""

# Names that the Arduino core, or the headers that it brings, have already, and those of the sketches.
_ARDUINO = """
Arduino arduino setup loop yield delay millis micros map min max round radians degrees constrain sq bit
word byte boolean random randomSeed tone shiftIn shiftOut pulseIn analogRead analogWrite digitalRead
digitalWrite pinMode interrupts noInterrupts attachInterrupt detachInterrupt init String Stream Print
Printable Client Server UDP Udp Serial Serial1 Serial2 Serial3 SerialUSB Wire SPI EEPROM Servo IPAddress
HardwareSerial binary pins_arduino variant read_model stop_on send_frame last_sent
"""

_ALL = (
    Form(
        "c",
        rows="""\
main.c | an example for a computer; no part of a firmware
examples/send_frames.c = send_frames.c | an example that sends frames; no part of a firmware either
""",
        advice="""\
try it: cd @folder@ && cc -std=c99 main.c @sources@ -o try_@name@
smaller: compile with @flags@
""",
        together="""\
They share the files that begin with `tcuq`: compile those once. Export
into one folder (the second time with `--force`; README.md and main.c are then those of the last one), or into
two and compile the `tcuq` files of one of them: those of both would define every function twice, which the
linker refuses.
""",
        includes="",
        compiled="",
        license="tcuq_LICENSE.txt",
        words={"title": "@name@", "frames": _SEND_EXAMPLE},
        further=_c,
    ),
    Form(
        "arduino",
        rows="""\
src/@name@_arduino.h = arduino/library.h | includes all of it
examples/Watch/Watch.ino = sketch.cpp | an example sketch
examples/SendFrames/SendFrames.ino | a sketch that sends frames to a computer
library.properties, keywords.txt | what the editor reads
""",
        advice="try it: put the folder among the libraries of your sketchbook and open its example Watch\n",
        together="""\
They share the files that begin with `tcuq`: compile those once. Export
the second one into this very folder with `--force` (the card, this page and the example are then those of
the last one); as two libraries in one sketch they would define every function twice, which the linker
refuses.
""",
        words={
            "frames": "The example SendFrames does so over `Serial`.",
            "sketch_includes": "#include <@name@_arduino.h>\n",
        },
        further=_arduino,
        manifest="library.properties",
        includes="src",
        license="src/tcuq_LICENSE.txt",
        platform="Arduino sketches",
        taken=_ARDUINO,
    ),
    Form(
        "platformio",
        rows="""\
library.json | name, version and folders for PlatformIO
examples/native/platformio.ini, examples/native/src/main.c = watch.c | an example for this computer
examples/arduino/platformio.ini, examples/arduino/src/main.cpp = sketch.cpp | an example for Arduino boards
""",
        advice="""\
try it: cd @folder@/examples/native && pio run -t exec
use it: put the folder into lib/ of your project
""",
        together=_TWO_FOLDERS
        + "PlatformIO makes an archive of each library, and the linker takes the core from the first.",
        words={
            "sketch_includes": "#include <Arduino.h>\n#include <@name@.h>\n#include <@name@_selfcheck.h>\n"
            "@with_names@#include <@name@_names.h>\n"
        },
        manifest="library.json",
        platform="the examples",
        taken=_WATCH + _ARDUINO,
    ),
    Form(
        "zephyr",
        rows="""\
zephyr/module.yml, zephyr/Kconfig, zephyr/CMakeLists.txt | what makes this folder a module
samples/watch/CMakeLists.txt, samples/watch/prj.conf, samples/watch/sample.yaml | of the sample
samples/watch/src/main.c = watch.c | a sample that begins with the self-check
""",
        advice="""\
try it: west build -b native_sim @folder@/samples/watch -t run
use it: add the folder to EXTRA_ZEPHYR_MODULES and CONFIG_TCUQ_@NAME@=y to prj.conf
""",
        together=_TWO_FOLDERS + "Add both modules: the first brings the core.",
        words={
            "platform_headers": "#include <zephyr/kernel.h>\n#include <zephyr/sys/printk.h>",
            "say": "printk",
            "pause": "        k_msleep(100);",
        },
        further=_zephyr,
        manifest="zephyr/module.yml",
        platform="Zephyr",
        taken=f"{_WATCH} printk device kernel zephyr app k_* z_* sys_* arch_* zephyr_* *_trim",
    ),
    Form(
        "espidf",
        rows="""\
CMakeLists.txt, Kconfig, idf_component.yml | what makes this folder a component
examples/watch/CMakeLists.txt | of the example
examples/watch/main/CMakeLists.txt, examples/watch/main/idf_component.yml | of the example
examples/watch/main/watch_main.c = watch.c | an example that begins with the self-check
""",
        advice="""\
@with_renamed@name the folder tcuq_@lower@: ESP-IDF takes the name of a component from it
try it: cd @folder@/examples/watch && idf.py set-target esp32s3 && idf.py build
use it: put the folder into components/ of your project, as components/tcuq_@lower@
""",
        together=_TWO_FOLDERS
        + "ESP-IDF makes an archive of each component, and the linker takes the core from the first.",
        words={
            "title": "tcuq_@lower@",
            "platform_headers": '#include <stdio.h>\n\n#include "freertos/FreeRTOS.h"\n'
            '#include "freertos/task.h"',
            "main": "void app_main(void)",
            "pause": "        vTaskDelay(pdMS_TO_TICKS(100));",
            "failed": "return;",
            "passed": None,
        },
        further=_compiled('        "src/{}"\n'),
        manifest="idf_component.yml",
        platform="ESP-IDF",
        taken=f"{_WATCH} app_main freertos sdkconfig esp_* idf_* vTask* xTask* *_trim",
    ),
    Form(
        "cmake",
        rows="""\
CMakeLists.txt | library `tcuq::@name@`, example, test, installation
examples/watch.c = watch.c | an example for a computer, which begins with the self-check
examples/send_frames.c = send_frames.c | an example that sends frames
""",
        advice="""\
try it: cd @folder@ && cmake -B build && cmake --build build && ctest --test-dir build
use it: add_subdirectory(...), then target_link_libraries(... tcuq::@name@)
""",
        together=_TWO_FOLDERS + "Link both libraries: the linker takes the core from the first.",
        words={"frames": _SEND_EXAMPLE},
        further=_compiled("  src/{}\n"),
        manifest="examples/watch.c",
        platform="the example",
        taken=f"{_WATCH} uart_write send_frame *_watch *_frames",
    ),
    Form(
        "micropython",
        rows="""\
modtcuq_@name@.c = micropython/module.c | classes Monitor and Frames, function selfcheck() for Python
micropython.mk, micropython.cmake | what MicroPython's build reads
examples/watch.py | an example that begins with the self-check
""",
        advice="""\
try it: put the folder into modules/, then make -C micropython/ports/unix USER_C_MODULES=/path/to/modules
use it: import tcuq_@name@
""",
        together=_TWO_FOLDERS + "Put both among your modules: the first brings the core, once.",
        words={
            "selfcheck": "tcuq_@name@.selfcheck()",
            "frames": """In Python, with a `boot` that is larger at every start:
`frames = tcuq_@name@.Frames(boot)`, after each step `uart.write(frames.add(monitor))`, and once a second
`uart.write(frames.flush())`.""",
        },
        further=_micropython,
        manifest="micropython.mk",
        includes="src",
        platform="MicroPython",
        taken="module_* monitor_* frames_* int8_values read_gauges check micropython fields "
        "mp_* m_* vstr_* qstr*",
    ),
    Form(
        "rust",
        rows="""\
Cargo.toml, build.rs | the crate, and how it compiles its C
src/lib.rs | `Monitor`, `Step` and the self-check, safe to call
csrc/@name@_rust.c = rust/wrapper.c | what `src/lib.rs` calls
examples/watch.rs | an example for a computer, which begins with the self-check
""",
        advice="""\
try it: cd @folder@ && cargo test && cargo run --example watch
use it: tcuq_@lower@ = { path = "..." } under [dependencies] of your Cargo.toml
""",
        together=_TWO_FOLDERS + "Depend on both crates: the linker takes the core from the first.",
        words={
            "title": "tcuq_@lower@",
            "selfcheck": "selfcheck()",
            "frames": 'From Rust, declare its functions `extern "C"`; they are in `csrc/`.',
        },
        further=_rust,
        manifest="Cargo.toml",
        includes="csrc",
        compiled="csrc",
        platform="the crate",
        taken="*_rust",
    ),
)

FORMS = {form.name: form for form in _ALL}
"""Every form by its name, in the order of `generated.PLATFORMS`."""
