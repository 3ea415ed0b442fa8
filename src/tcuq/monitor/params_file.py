"""The parameter file (SPEC.md section 14): JSON that people read, with real numbers."""

from __future__ import annotations

import json
import warnings
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..base.checks import InputNote, known_only
from ..base.errors import InputError, wrong_value
from ..base.json_text import from_json
from ..base.limits import Limits
from .alarm import Alarm, AlarmSide, alarm_from
from .codec import as_json, part_from, row_range
from .feedback import Feedback
from .heads import EvidenceHead, InstantHead, Sight
from .made import PARAMS_VERSION as VERSION
from .made import WAS

if TYPE_CHECKING:
    from .params import Params

FORMAT = "tcuq-params"

OLD = 4
"""Layout of version 0.3, which is read too."""

_PARTS: dict[str, type[Any]] = {
    "evidence": EvidenceHead,
    "instant": InstantHead,
    "sight": Sight,
    "feedback": Feedback,
}
"""What may be null."""


def content_of(params: Params) -> dict[str, Any]:
    """Return the content of a parameter file."""
    values = {item.name: as_json(getattr(params, item.name)) for item in fields(params)}
    for name in ("feedback", "sight"):  # files of a fit without them are as they were
        if getattr(params, name) is None:
            del values[name]
    return sealed_content({"format": FORMAT, "version": VERSION, **values})


def checksum_of(content: Mapping[str, Any]) -> str:
    """Return the checksum that belongs to the content of a parameter file (SPEC.md section 14)."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"


def sealed_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with the checksum that belongs to it, as the last field."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    return {**rest, "checksum": checksum_of(rest)}


def check_whole(content: Mapping[str, Any], kind: type[Params], sealed: bool) -> None:
    """Refuse a file that lacks a field; then, if `sealed`, one with the checksum of another content."""
    given, expected = content.get("checksum"), checksum_of(content)
    content = today(content)
    # Without feedback and sight a file is as it was before there were any.
    later = ("feedback", "sight")
    _complete("field", content, [item.name for item in fields(kind) if item.name not in later])
    for name in ("coef", "clean_means"):
        _complete(name, content[name], content["signals"])
    alarm = content["alarm"]
    _complete("alarm field", alarm, [item.name for item in fields(Alarm)])
    for name, side in (("rise", alarm["rise"]), ("fall", alarm["fall"])):
        known = [item.name for item in fields(AlarmSide) if (name, item.name) != ("fall", "clear")]
        _complete(f"alarm {name} field", side, known)
    for name, part in _PARTS.items():
        _complete(f"{name} field", content.get(name), [item.name for item in fields(part)])
    if sealed and given != expected:
        problem = f"checksum is {'missing' if given is None else repr(given)}, expected {expected!r}"
        way = "after an edit, run `tcuq inspect FILE --seal`, or read it with sealed=False"
        raise InputError("damaged", f"{problem}: the file is damaged, or was edited; {way}")


def _complete(what: str, values: Mapping[str, Any] | None, names: Sequence[str]) -> None:
    """Refuse what is there and lacks a name: a default in its place would be another monitor."""
    for name in names:
        if values is not None and name not in values:
            raise InputError("missing", f"{what} {name!r} is missing, expected all of {', '.join(names)}")


def content_from(text: str, limits: Limits | None = None) -> Any:
    """Return the content of a file's text."""
    return from_json(text, limits, _once)


def values_from(content: Any, kind: type[Params]) -> dict[str, Any]:
    """Return arguments of `Params` from the content of a file; unknown fields and versions are refused."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise InputError("damaged", f'not a parameter file: "format" must be "{FORMAT}"')
    version = content.get("version")
    if version not in (OLD, VERSION) or not isinstance(version, int):
        advice = "use a newer tcuq" if isinstance(version, int) and version > VERSION else "fit again"
        raise InputError("unsupported", f"parameters have version {version!r}, expected {VERSION}; {advice}")
    _warn_of_class_mix(content)
    content = today(content)
    values = {k: v for k, v in content.items() if k not in ("format", "version", "checksum")}
    known_only("field", values, [item.name for item in fields(kind)])
    if "classes" not in values:
        low, high = row_range("classes")
        raise InputError("missing", f"field 'classes' is missing, expected {low} to {high}")
    for name in ("signals", "lags", "lag_weights"):
        if name in values:
            values[name] = _list(name, values[name])
    if values.get("signals") == ():
        raise InputError("missing", "signals is empty; at least one is needed")
    for name in ("coef", "clean_means", "notes"):
        if name in values and not isinstance(values[name], Mapping):
            raise wrong_value(name, values[name], "an object")
    if "alarm" in values:
        values["alarm"] = alarm_from(values["alarm"])
    for name, part in _PARTS.items():
        if name in values:
            values[name] = part_from(part, name, values[name])
    for name in ("accuracy_error", "centers", "names"):
        if values.get(name) is not None:
            values[name] = _list(name, values[name])
    return values


def today(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a file by today's names, without what version 0.3 corrected by class mix."""
    if content.get("version") != OLD:
        return content
    return {name: value if name in ("names", "notes") else _renamed(value) for name, value in content.items()}


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {WAS.get(name, name): _renamed(each) for name, each in value.items() if name != "class_mix"}
    if isinstance(value, list):
        return [WAS.get(each, each) if isinstance(each, str) else each for each in value]
    return value


def _warn_of_class_mix(content: Mapping[str, Any]) -> None:
    """Warn where a file of version 0.3 has a correction that is no more."""
    head = content.get("instant")
    if content["version"] == OLD and isinstance(head, Mapping) and head.get("class_mix") is not None:
        text = (
            "class_mix is ignored, as beliefs are no longer corrected by it: answers and risk are not quite "
        )
        warnings.warn(
            InputNote(text + "those of version 0.3; fit again to weigh signals without it"), stacklevel=6
        )


def _list(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise wrong_value(name, value, "a list")
    return tuple(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; a key that comes twice is a mistake that one of its readers would never see."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError("damaged", f"field {twice!r} comes twice")
    return content


def plain(notes: Any) -> dict[str, Any]:
    """Return notes as a JSON file would give them back, so that a round trip changes nothing."""
    if not isinstance(notes, Mapping):
        raise wrong_value("notes", notes, "an object")
    try:
        content: dict[str, Any] = json.loads(json.dumps(dict(notes), allow_nan=False))
        json.dumps(content, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError("value", f"notes cannot be written as JSON: {error}") from None
    return content
