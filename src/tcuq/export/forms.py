"""The forms of a package: what tells one platform's package from another's. Their texts are in templates/."""

from __future__ import annotations

import shlex
import textwrap
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..export.generated import PLATFORMS
from .contents import Contents, render, sections


def plain_place(contents: Contents, file: str) -> str:
    """Return where a file of the monitor goes when all of them lie in one folder."""
    return file


def split_place(contents: Contents, file: str) -> str:
    """Return where it goes when headers that programs include have a folder of their own."""
    if file == "tcuq_LICENSE.txt":
        return "LICENSE"
    return f"include/{file}" if file in contents.headers else f"src/{file}"


def _folder_place(folder: str, license_file: str = "LICENSE") -> Callable[[Contents, str], str]:
    def place(contents: Contents, file: str) -> str:
        return license_file if file == "tcuq_LICENSE.txt" else f"{folder}/{file}"

    return place


def _no_fields(contents: Contents) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Form:
    """The package of one platform: where the monitor's files go, what is added, which names are taken.

    Its texts are the sections of templates/NAME.txt, and those of common.txt that it has not: files, lines of
    `hints` that follow an export, and of the README `title`, `use`, `together`, `frames` and `rows`.
    """

    name: str
    header: str = "tcuq.h"
    manifest: str = "main.c"  # a file that forms with the same header have not
    place: Callable[[Contents, str], str] = plain_place
    fields: Callable[[Contents], dict[str, Any]] = _no_fields  # of its texts alone
    platform: str = ""  # who uses the words below
    taken: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def sections(self) -> Mapping[str, str]:
        """Its texts by name."""
        return ChainMap(sections(self.name), sections("common"))

    def text(self, section: str, contents: Contents, **more: Any) -> str:
        """Return one of its texts with the values of a monitor."""
        return self._filled(self.sections[section], contents, more)

    def _filled(self, text: str, contents: Contents, more: Mapping[str, Any] = {}) -> str:
        return render(text, {**contents.fields, **self.fields(contents), **more}, self.sections)

    def files(self, contents: Contents) -> dict[str, str]:
        """Return what is added to the files of the monitor, text by path."""
        return {
            self._filled(section.removeprefix("file "), contents): self._filled(text, contents)
            for section, text in sections(self.name).items()
            if section.startswith("file ")
        }

    def hints(self, contents: Contents, folder: str) -> list[str]:
        """Return the lines that follow an export into a folder."""
        renamed = Path(folder).resolve().name != f"tcuq_{contents.name.lower()}"
        return self.text("hints", contents, folder=shlex.quote(folder), renamed=renamed).splitlines()

    def check_name(self, name: str) -> str:
        """Return a name that this platform has not taken; refuse others."""
        if name in self.taken:
            raise InputError(
                "value", f"name is {name!r}, a word that {self.platform} already; choose another one"
            )
        for what, texts, refused in (
            ("begin", self.starts, name.startswith(self.starts)),
            ("end", self.ends, name.endswith(self.ends)),
        ):
            if refused:
                listed = ", ".join(texts)
                raise InputError(
                    "value",
                    f"name is {name!r}, but {self.platform} names that {what} with {listed};"
                    " choose another one",
                )
        return name


def _columns(contents: Contents) -> dict[str, str]:
    """Return what the program for a computer prints, as lines of a comment."""
    columns = render(sections("c")["columns"], contents.fields, {})
    return {"columns": "\n * ".join(textwrap.wrap(columns, 98))}


def _keywords(contents: Contents) -> dict[str, str]:
    """Return the words that the Arduino editor colors; name and kind are parted by one tab."""
    rows = map(str.split, render(sections("arduino")["keywords"], contents.fields, {}).splitlines())
    return {"keywords": "".join(f"{word}\t{kind}\n" for kind, *words in rows for word in words)}


def _rust_fields(contents: Contents) -> dict[str, Any]:
    """Return what the crate compiles, and names of classes."""
    return {
        "source_count": len(contents.sources) + 1,
        "through": contents.logits_scale is not None or contents.projection is not None,
        "entries": "".join(f"    {rust_string(name)},\n" for name in contents.params.names or ()),
    }


def rust_string(text: str) -> str:
    """Return a text as a Rust string literal of printable ASCII."""
    plain = {sign: sign for sign in map(chr, range(32, 127))} | {'"': r"\"", "\\": r"\\"}
    # Half of a surrogate pair, which JSON can say, is no character.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    shown = "".join(plain.get(sign, "\\u{" + format(ord(sign), "x") + "}") for sign in whole)
    return f'"{shown}"'


_WATCH_WORDS = frozenset(("read_model", "watch_params"))
"""Names that the example in C has at file scope."""

# Names that the Arduino core, or the headers that it brings, have already, and those of the sketches.
_ARDUINO = """
Arduino arduino setup loop yield delay millis micros map min max round radians degrees constrain sq bit
word byte boolean random randomSeed tone shiftIn shiftOut pulseIn analogRead analogWrite digitalRead
digitalWrite pinMode interrupts noInterrupts attachInterrupt detachInterrupt init String Stream Print
Printable Client Server UDP Udp Serial Serial1 Serial2 Serial3 SerialUSB Wire SPI EEPROM Servo IPAddress
HardwareSerial binary pins_arduino variant read_model stop_on send_frame last_sent
"""
_ARDUINO_WORDS = frozenset(_ARDUINO.split())

_ALL = (
    Form("c", fields=_columns),
    Form(
        "arduino",
        header="src/tcuq.h",
        manifest="library.properties",
        place=_folder_place("src", "src/tcuq_LICENSE.txt"),
        fields=_keywords,
        platform="Arduino sketches use",
        taken=_ARDUINO_WORDS,
    ),
    Form(
        "platformio",
        header="include/tcuq.h",
        manifest="library.json",
        place=split_place,
        platform="the examples use",
        taken=_WATCH_WORDS | _ARDUINO_WORDS,
    ),
    Form(
        "zephyr",
        header="include/tcuq.h",
        manifest="zephyr/module.yml",
        place=split_place,
        platform="Zephyr uses",
        taken=_WATCH_WORDS | {"printk", "device", "kernel", "zephyr", "app"},
        starts=("k_", "z_", "sys_", "arch_", "zephyr_"),
        ends=("_trim",),
    ),
    Form(
        "espidf",
        header="include/tcuq.h",
        manifest="idf_component.yml",
        place=split_place,
        platform="ESP-IDF uses",
        taken=_WATCH_WORDS | {"app_main", "freertos", "sdkconfig"},
        starts=("esp_", "idf_", "vTask", "xTask"),
        ends=("_trim",),
    ),
    Form(
        "cmake",
        header="include/tcuq.h",
        manifest="examples/watch.c",
        place=split_place,
        platform="the example uses",
        taken=_WATCH_WORDS | {"uart_write", "send_frame"},
        ends=("_watch", "_frames"),
    ),
    Form(
        "micropython",
        header="src/tcuq.h",
        manifest="micropython.mk",
        place=_folder_place("src"),
        platform="MicroPython uses",
        taken=frozenset(
            ("module_params", "monitor_obj", "int8_values", "check", "micropython", "fields", "module_name")
        ),
        starts=("mp_", "m_", "vstr_", "qstr", "monitor_", "frames_", "module_"),
    ),
    Form(
        "rust",
        header="csrc/tcuq.h",
        manifest="Cargo.toml",
        place=_folder_place("csrc"),
        fields=_rust_fields,
        platform="the crate uses",
        ends=("_rust",),
    ),
)

FORMS: dict[str, Form] = {name: form for name in PLATFORMS for form in _ALL if form.name == name}
"""Every form by its name, in the order of the help."""
