"""The text of an Arduino library around an exported monitor: its card, keywords, one header, a sketch."""

from __future__ import annotations

from .._version import VERSION
from ..monitor.cost import cost
from .contents import Contents
from .csource import banner

# Names that the Arduino core, or the headers that it brings, have already, and those of the sketch.
_WORDS = """
Arduino arduino setup loop yield delay millis micros map min max round radians degrees constrain sq bit
word byte boolean random randomSeed tone shiftIn shiftOut pulseIn analogRead analogWrite digitalRead
digitalWrite pinMode interrupts noInterrupts attachInterrupt detachInterrupt init String Stream Print
Printable Client Server UDP Udp Serial Serial1 Serial2 Serial3 SerialUSB Wire SPI EEPROM Servo IPAddress
HardwareSerial binary pins_arduino variant read_model stop_on
"""

TAKEN = frozenset(_WORDS.split())

_PROPERTIES = """\
name=tcuq_{name}
version={version}
author=The tcuq developers
maintainer=The tcuq developers
sentence=Watches a classifier of {classes} classes without labels: accept, abstain, alarm.
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

_SKETCH = """\
// Watch a model: check the monitor once, then take one step after every inference.
// read_model() is a placeholder; put the outputs of your own model there.
#include <{name}_arduino.h>

static tcuq_t {name}_state;
static uint32_t {name}_ring[{NAME}_RING_BYTES / 4u];
static int8_t {name}_outputs[{NAME}_CLASSES];
{buffers}
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

_FUNCTIONS = (
    *("tcuq_check", "tcuq_ring_size", "tcuq_init", "tcuq_step", "tcuq_reset", "tcuq_state_size"),
    *("tcuq_verify", "tcuq_fingerprint"),
    *("tcuq_save", "tcuq_load", "tcuq_debt_bounds", "tcuq_two_classes", "tcuq_error_name", "tcuq_error_text"),
)
_CONSTANTS = ("TCUQ_OK", "TCUQ_REASON_NONE", "TCUQ_ALARM_RISE", "TCUQ_ALARM_FALL")


def check_arduino_name(name: str) -> str:
    """Return a name that the Arduino core has not taken; refuse others.

    Examples
    --------
    >>> check_arduino_name("setup")
    Traceback (most recent call last):
    ...
    ValueError: name is 'setup', a word that Arduino sketches use already; choose another one
    """
    if name in TAKEN:
        raise ValueError(f"name is {name!r}, a word that Arduino sketches use already; choose another one")
    return name


def library_files(contents: Contents) -> dict[str, str]:
    """Return what makes a folder with sources in src/ an Arduino library, text by path."""
    check_arduino_name(contents.name)
    before = ("tcuq_softmax.h", "tcuq_projection.h")
    more = "".join(f'#include "{file}"\n' for file in contents.core_files if file in before)
    if contents.params.names is not None:
        more += f'#include "{contents.name}_names.h"\n'
    return {
        "library.properties": contents.fill(
            _PROPERTIES, version=VERSION, ram=cost(contents.params).ram_bytes
        ),
        "keywords.txt": _keywords(contents),
        f"src/{contents.name}_arduino.h": banner() + contents.fill(_UMBRELLA, more=more),
        "examples/Watch/Watch.ino": _sketch(contents),
    }


def _keywords(contents: Contents) -> str:
    """Return the words that an editor colors; name and kind are parted by one tab."""
    types, functions = ["tcuq_t", "tcuq_step_t", "tcuq_params_t"], [*_FUNCTIONS]
    functions.append(f"{contents.name}_selfcheck")
    sizes = ("CLASSES", "FEATURES", "RING_BYTES", "STATE_BYTES", "SELFCHECK_STEPS")
    constants = [contents.name, *(f"{contents.macro}_{size}" for size in sizes), *_CONSTANTS]
    if contents.params.names is not None:
        constants.append(f"{contents.name}_names")
    if contents.logits_scale is not None:
        functions.append("tcuq_softmax")
        constants.append(f"{contents.name}_softmax")
    if contents.projection is not None:
        types.append("tcuq_projection_t")
        functions.append("tcuq_project")
        constants += [f"{contents.name}_projection", f"{contents.macro}_WIDE_FEATURES"]
    kinds = (("KEYWORD1", types), ("KEYWORD2", functions), ("LITERAL1", constants))
    return "".join(f"{word}\t{kind}\n" for kind, words in kinds for word in words)


def _sketch(contents: Contents) -> str:
    name, macro, params = contents.name, contents.macro, contents.params
    buffers = features = before = ""
    argument = "NULL"
    if contents.width:
        wide = "wide_features" if contents.projection else "features"
        buffers = f"static int8_t {name}_{wide}[{macro}_{wide.upper()}];\n"
        features = (
            f"  // {'Wide features' if contents.projection else 'Features'} as int8, as the model has them.\n"
            f"  for (size_t i = 0; i < {macro}_{wide.upper()}; i++) {{\n"
            f"    {name}_{wide}[i] = (int8_t)(i % 16u);\n  }}\n"
        )
        argument = f"{name}_features"
    if contents.logits_scale is not None:
        before += f"  tcuq_softmax({name}_softmax, {name}_outputs, {macro}_CLASSES, {name}_outputs);\n"
    if contents.projection is not None:
        buffers += f"static int8_t {name}_features[{macro}_FEATURES];\n"
        before += f"  tcuq_project(&{name}_projection, {name}_wide_features, {name}_features);\n"
    more = ""
    if params.evidence is not None:
        more += '  Serial.print(" severity x100 ");\n  Serial.print((int)(step.severity * 25L / 16384L));\n'
    if params.horizon:
        percent = "(int)((100uL * step.expected_accuracy + 32768uL) >> 16)"
        more += f'  Serial.print(" expected accuracy % ");\n  Serial.print({percent});\n'
    logits = f"Logits as int8, scale {contents.logits_scale:g}." if contents.logits_scale is not None else ""
    rest = 64 // max(1, params.classes - 1)
    return contents.fill(
        _SKETCH,
        outputs_text=logits or "Posteriors as an int8 softmax leaves them: scale 1/256, zero point -128.",
        first=64,
        rest=0 if logits else rest - 128,
        buffers=buffers,
        features=features,
        before=before,
        argument=argument,
        answer=f"{name}_names[step.answer]" if params.names is not None else "step.answer",
        more=more,
    )
