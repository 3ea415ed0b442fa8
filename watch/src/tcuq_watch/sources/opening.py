"""Which source a text names: the same for one device and for a fleet."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tcuq.base.errors import InputError
from tcuq.io.sources import STANDARD
from tcuq.log.log import Softmax

from .files import ENDINGS, FileSource
from .links import BAUD, Link
from .streams import Pipe, Source

_SERIAL = re.compile(r"(/dev/(tty|cu|serial|pts/|rfcomm).*|COM\d+)", re.IGNORECASE)

OTHERS = (".npz", ".npy", ".arrow", ".feather", ".json", ".zip", ".gz")
"""Files that are of another kind than those that are read here."""


def open_source(
    text: str,
    *,
    folder: Path,
    follow: bool = False,
    device: str | None = None,
    softmax: Softmax | None = None,
    names: tuple[str, ...] | None = None,
) -> Source:
    """Return the source that a text names; `open` or `batches` then opens it.

    The text is ``-`` for standard input, a file or a folder, ``/dev/ttyUSB0@115200``,
    ``mqtt://host:port/topic``, ``tcp://host:port`` or ``tcp-listen://host:port``. A session at a broker is
    named after `folder`, where events are kept. With `follow`, files are waited for at their end. `device` is
    whose steps these are where lines do not say it, `softmax` makes posteriors of logits, and by `names` of
    the classes a label may be given.

    Examples
    --------
    >>> open_source("/dev/ttyUSB0", folder=Path("here")).where
    '/dev/ttyUSB0@115200'
    """
    options: dict[str, Any] = {"device": device, "softmax": softmax, "names": names}
    if text == STANDARD:
        return Pipe(**options)
    if text.startswith(("mqtt://", "mqtts://")):
        from .mqtt import Address, MqttSource

        return MqttSource(Address.of(text), folder, **options)
    if "://" in text:
        return _tcp(text, options)
    port, mark, baud = text.rpartition("@")
    mode = os.stat(text).st_mode if os.path.exists(text) else 0
    rated = bool(mark and baud.isdigit() and not mode)
    if rated or _SERIAL.fullmatch(text) or (stat.S_ISCHR(mode) and text != os.devnull):
        return Link("serial", port if rated else text, int(baud) if rated else BAUD, **options)
    if stat.S_ISFIFO(mode):
        raise InputError("value", f"{text}: is a named pipe, expected - as SOURCE and < {text}")
    if not mode:
        others = "a serial port, tcp://, tcp-listen:// or mqtt://"
        raise InputError("missing", f"{text}: no such file; create it first, or name {others}")
    path = Path(text)
    if path.suffix.lower() in OTHERS:
        expected = f"expected {', '.join(ENDINGS)}"
        raise InputError("unknown", f"{path}: extension {path.suffix!r} is unknown, {expected}")
    return FileSource(path, follow, **options)


def _tcp(text: str, options: dict[str, Any]) -> Link:
    scheme, host, port = text.partition("://")[0], "", None
    with suppress(ValueError):
        parts = urlsplit(text)
        host, port = parts.hostname or ("127.0.0.1" if scheme == "tcp-listen" else ""), parts.port
    if scheme not in ("tcp", "tcp-listen"):
        expected = "-, a file, a folder, a serial port, mqtt://, mqtts://, tcp:// or tcp-listen://"
        raise InputError("value", f"SOURCE is '{scheme}://...', expected {expected}")
    if port is None or not host:
        raise InputError("value", f"{text}: expected {scheme}://HOST:PORT, with a port of 0 to 65535")
    return Link(scheme, host, port, **options)
