"""The text of an Arduino library around an exported monitor: its card, keywords, one header, a sketch."""

from __future__ import annotations

from ..contents import Contents
from ..csource import banner
from ..watch import parts
from .form import Form

# Names that the Arduino core, or the headers that it brings, have already, and those of the sketch.
_WORDS = """
Arduino arduino setup loop yield delay millis micros map min max round radians degrees constrain sq bit
word byte boolean random randomSeed tone shiftIn shiftOut pulseIn analogRead analogWrite digitalRead
digitalWrite pinMode interrupts noInterrupts attachInterrupt detachInterrupt init String Stream Print
Printable Client Server UDP Udp Serial Serial1 Serial2 Serial3 SerialUSB Wire SPI EEPROM Servo IPAddress
HardwareSerial binary pins_arduino variant read_model stop_on send_frame last_sent
"""

TAKEN = frozenset(_WORDS.split())

_PROPERTIES = """\
name=tcuq_{name}
version={semver}
author=The tcuq developers
maintainer=The tcuq developers
sentence={sentence}
paragraph=One call after every inference, {ram} bytes of RAM, integers only. Written by tcuq export.
category=Data Processing
url=
license=MIT
architectures=*
includes={name}_arduino.h
"""

_UMBRELLA = """\
#ifndef {NAME}_ARDUINO_H
#define {NAME}_ARDUINO_H

#include "tcuq.h"
{more}#include "{name}.h"
#include "{name}_selfcheck.h"

#endif
"""

_MODEL = """\
static void read_model()
{{
  // {outputs_text}
  for (size_t i = 0; i < {NAME}_CLASSES; i++) {{
    {name}_outputs[i] = (int8_t)(i == 0 ? {first} : {rest});
  }}
{features}}}

static void stop_on(const char *what, int status)
{{
  while (status != 0) {{
    Serial.print(what);
    Serial.println(status);
    delay(1000);
  }}
}}
"""
"""What both sketches have: the place of the user's model, and an end that says why."""

_SKETCH = (
    """\
// Watch a model: check the monitor once, then take one step after every inference.
// read_model() is a placeholder; put the outputs of your own model there.
{includes}
static tcuq_t {name}_state;
static uint32_t {name}_ring[{NAME}_RING_BYTES / 4u];
static int8_t {name}_outputs[{NAME}_CLASSES];
{buffers}
"""
    + _MODEL
    + """\

void setup()
{{
  Serial.begin(115200);
  stop_on("self-check failed: ", {name}_selfcheck({name}_ring, sizeof {name}_ring));
  stop_on("tcuq_init failed: ", tcuq_init(&{name}_state, &{name}, {name}_ring, sizeof {name}_ring));
}}

void loop()
{{
  tcuq_step_t step;
  read_model();
{before}  tcuq_step(&{name}_state, {name}_outputs, {argument}, &step, NULL);
  Serial.print({answer});
  Serial.print(step.abstain ? " ABSTAIN" : " ACCEPT");
{more}  Serial.println(step.alarm ? " ALARM" : "");
  delay(100);
}}
"""
)

_SEND = (
    """\
// Send what the monitor decides as frames. On the computer: tcuq live params.json /dev/ttyACM0@115200
// read_model() is a placeholder; put the outputs of your own model there.
{includes}
static tcuq_t {name}_state;
static uint32_t {name}_ring[{NAME}_RING_BYTES / 4u];
static tcuq_frame_t {name}_frame;
static uint8_t {name}_frame_bytes[TCUQ_FRAME_SIZE];
static int8_t {name}_outputs[{NAME}_CLASSES];
static unsigned long last_sent;
// Larger at every start of the device: count it in EEPROM or flash, or take the time in seconds.
static uint32_t {name}_boot = 1;
{buffers}
"""
    + _MODEL
    + """\

static void send_frame(size_t size)
{{
  if (size > 0u) {{
    Serial.write({name}_frame.bytes, size);
    last_sent = millis();
  }}
}}

void setup()
{{
  Serial.begin(115200);
  stop_on("self-check failed: ", {name}_selfcheck({name}_ring, sizeof {name}_ring));
  stop_on("tcuq_init failed: ", tcuq_init(&{name}_state, &{name}, {name}_ring, sizeof {name}_ring));
  stop_on("tcuq_frame_init failed: ",
          tcuq_frame_init(&{name}_frame, &{name}, TCUQ_FRAME_DECISIONS, {name}_boot, {name}_frame_bytes,
                          sizeof {name}_frame_bytes));
}}

void loop()
{{
  tcuq_step_t step;
  read_model();
{before}  tcuq_step(&{name}_state, {name}_outputs, {argument}, &step, NULL);
  send_frame(tcuq_frame_decision(&{name}_frame, &step));
  if (millis() - last_sent >= 1000u) {{
    send_frame(tcuq_frame_flush(&{name}_frame));
  }}
  delay(100);
}}
"""
)

_FUNCTIONS = (
    *("tcuq_check", "tcuq_ring_size", "tcuq_init", "tcuq_step", "tcuq_reset", "tcuq_state_size"),
    *("tcuq_verify", "tcuq_fingerprint"),
    *("tcuq_save", "tcuq_load", "tcuq_debt_bounds", "tcuq_two_classes", "tcuq_error_name", "tcuq_error_text"),
    *("tcuq_frame_init", "tcuq_frame_posteriors", "tcuq_frame_decision", "tcuq_frame_flush"),
    *("tcuq_frame_skip", "tcuq_frame_state"),
)
_CONSTANTS = (
    *("TCUQ_OK", "TCUQ_REASON_NONE", "TCUQ_ALARM_RISE", "TCUQ_ALARM_FALL"),
    *("TCUQ_FRAME_POSTERIORS", "TCUQ_FRAME_DECISIONS", "TCUQ_FRAME_SIZE"),
)


def _place(contents: Contents, file: str) -> str:
    return f"src/{file}"


def _hints(contents: Contents, folder: str) -> list[str]:
    return ["try it: put the folder among the libraries of your sketchbook and open its example Watch"]


def _files(contents: Contents) -> dict[str, str]:
    """Return what makes a folder with sources in src/ an Arduino library, text by path."""
    before = ("tcuq_frame.h", "tcuq_softmax.h", "tcuq_projection.h")
    more = "".join(f'#include "{file}"\n' for file in contents.core_files if file in before)
    if contents.params.names is not None:
        more += f'#include "{contents.name}_names.h"\n'
    includes = f"#include <{contents.name}_arduino.h>\n"
    send = contents.fill(_SEND, includes=includes, **parts(contents, "  ", "// {}"))
    return {
        "library.properties": contents.fill(_PROPERTIES),
        "keywords.txt": _keywords(contents),
        f"src/{contents.name}_arduino.h": banner() + contents.fill(_UMBRELLA, more=more),
        "examples/Watch/Watch.ino": sketch(contents, includes),
        "examples/SendFrames/SendFrames.ino": send,
    }


def _keywords(contents: Contents) -> str:
    """Return the words that an editor colors; name and kind are parted by one tab."""
    types, functions = ["tcuq_t", "tcuq_step_t", "tcuq_params_t", "tcuq_frame_t"], [*_FUNCTIONS]
    functions.append(f"{contents.name}_selfcheck")
    sizes = ("CLASSES", "FEATURES", "RING_BYTES", "STATE_BYTES", "SELFCHECK_STEPS")
    constants = [contents.name, *(f"{contents.macro}_{size}" for size in sizes), *_CONSTANTS]
    if contents.params.names is not None:
        constants.append(f"{contents.name}_names")
    if contents.params.feedback is not None:
        functions += ["tcuq_feedback", "tcuq_error_bound", "tcuq_error_debt"]
        constants += ["TCUQ_RIGHT", "TCUQ_WRONG"]
    if contents.logits_scale is not None:
        functions.append("tcuq_softmax")
        constants.append(f"{contents.name}_softmax")
    if contents.projection is not None:
        types.append("tcuq_projection_t")
        functions.append("tcuq_project")
        constants += [f"{contents.name}_projection", f"{contents.macro}_WIDE_FEATURES"]
    kinds = (("KEYWORD1", types), ("KEYWORD2", functions), ("LITERAL1", constants))
    return "".join(f"{word}\t{kind}\n" for kind, words in kinds for word in words)


def sketch(contents: Contents, includes: str) -> str:
    """Return an Arduino program that watches a model."""
    params = contents.params
    more = ""
    if params.evidence is not None:
        more += '  Serial.print(" severity x100 ");\n  Serial.print((int)(step.severity * 25L / 16384L));\n'
    if params.horizon:
        percent = "(int)((100uL * step.expected_accuracy + 32768uL) >> 16)"
        more += f'  Serial.print(" expected accuracy % ");\n  Serial.print({percent});\n'
    return contents.fill(
        _SKETCH,
        includes=includes,
        **parts(contents, "  ", "// {}"),
        answer=f"{contents.name}_names[step.answer]" if params.names is not None else "step.answer",
        more=more,
    )


_USE = """\
## Use

Put this folder among the libraries of your sketchbook, restart the editor, open File > Examples >
tcuq_{name} > Watch. The sketch runs the self-check in `setup()` and takes a step in `loop()`; replace what
`read_model()` does by the outputs of your model: `{outputs}` as int8{inputs}.

```cpp
#include <{name}_arduino.h>
```

On AVR boards constants are copied to RAM, tables included: count them as RAM there.
"""

_TOGETHER = """\
They share the files that begin with `tcuq`: compile those once. Export
the second one into this very folder with `--force` (the card, this page and the example are then those of
the last one); as two libraries in one sketch they would define every function twice, which the linker
refuses."""

ARDUINO = Form(
    name="arduino",
    header="src/tcuq.h",
    manifest="library.properties",
    files=_files,
    hints=_hints,
    use=_USE,
    together=_TOGETHER,
    rows={
        "examples/Watch/Watch.ino": "an example sketch",
        "examples/SendFrames/SendFrames.ino": "a sketch that sends frames to a computer",
    },
    frames="The example SendFrames does so over `Serial`.",
    place=_place,
    platform="Arduino sketches use",
    taken=TAKEN,
)
