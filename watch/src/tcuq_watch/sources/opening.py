"""Which source a text names: the same for one device and for a fleet."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tcuq.base.errors import InputError
from tcuq.io.sources import STANDARD
from tcuq.io.values import Softmax

from .arrivals import Source
from .files import FileSource, check_readable
from .streams import Pipe

_SERIAL = re.compile(r"(/dev/(tty|cu|serial|pts/|rfcomm).*|COM\d+)", re.IGNORECASE)

EXPECTED = "-, a file, a folder, a serial port, mqtt://, mqtts://, tcp:// or tcp-listen://"


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
    >>> open_source("udp://board.local:9000", folder=Path("here"))
    Traceback (most recent call last):
    ...
    tcuq.InputError: SOURCE is 'udp://...', expected -, a file, a folder, a serial port, mqtt://, mqtts://, \
tcp:// or tcp-listen://
    """
    options: dict[str, Any] = {"device": device, "softmax": softmax, "names": names}
    if text == STANDARD:
        return Pipe(**options)
    if "://" in text:
        return _at_address(text, folder, options)
    port, mark, baud = text.rpartition("@")
    named = bool(mark and baud.isdigit() and not os.path.exists(text))
    if named or _SERIAL.fullmatch(text) or (_is(text, stat.S_ISCHR) and text != os.devnull):
        from .links import BAUD, Serial

        return Serial(port if named else text, int(baud) if named else BAUD, **options)
    if _is(text, stat.S_ISFIFO):
        return Pipe(where=text, **options)
    path = Path(text)
    if not path.exists():
        others = "a serial port, tcp://, tcp-listen:// or mqtt://"
        raise InputError("missing", f"{text}: no such file; create it first, or name {others}")
    check_readable(path)
    return FileSource(path, follow, **options)


def _at_address(text: str, folder: Path, options: dict[str, Any]) -> Source:
    parts = urlsplit(text)
    if parts.scheme in ("mqtt", "mqtts"):
        from .mqtt import MqttSource
        from .mqtt_client import Address

        return MqttSource(Address.of(text), folder, **options)
    if parts.scheme not in ("tcp", "tcp-listen"):
        raise InputError("value", f"SOURCE is '{parts.scheme}://...', expected {EXPECTED}")
    try:
        port = parts.port
    except ValueError:
        raise InputError(
            "value", f"the port of {parts.scheme}://{parts.hostname} is no number from 0 to 65535"
        ) from None
    if port is None or (parts.scheme == "tcp" and not parts.hostname):
        raise InputError("value", f"{text}: expected {parts.scheme}://HOST:PORT")
    from .links import Listener, Tcp

    if parts.scheme == "tcp":
        return Tcp(parts.hostname or "", port, **options)
    return Listener(parts.hostname or "127.0.0.1", port, **options)


def _is(path: str, kind: Any) -> bool:
    try:
        return bool(kind(os.stat(path).st_mode))
    except OSError:
        return False
