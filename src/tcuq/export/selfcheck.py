"""The text of a self-check: on the target, a stored stream must give what Python's core gave at export."""

from __future__ import annotations

import textwrap

import numpy as np
import numpy.typing as npt

from . import selfcheck_texts as texts
from .contents import Contents
from .csource import banner
from .forged import Forged
from .laps import Lap
from .tables import lines_of, rows_of
from .transcript import BASIS, PRIME, step_fields
from .vector import Vector


def selfcheck_header(contents: Contents, found: Vector) -> str:
    """Return the header of a self-check."""
    codes = []
    if found.logits is not None:
        codes.append(("SOFTMAX", -10, "The posteriors of stored logits differ."))
    if found.wide is not None:
        codes.append(("PROJECTION", -11, "The projection of stored wide features differs."))
    if found.state:
        codes.append(("SAVED", -12, "A saved state differs."))
        codes.append(("LOADED", -13, "A state is loaded that is not sound, or a sound one is refused."))
    codes.append(
        ("LIMITS", -14, "Sizes or bounds differ, too little memory is taken, or memory was damaged.")
    )
    text = "".join(contents.fill(texts.CODE, what=what, number=n, about=about) for what, n, about in codes)
    others = "".join(f", or {contents.macro}_SELFCHECK_{what}" for what, _, _ in codes)
    return banner() + contents.fill(
        texts.HEADER,
        steps=len(found),
        singles=found.singles,
        about=_comment(f"Steps that are replayed: {about_steps(found)}.{_unseen(found)}"),
        saves=", and saved states" if found.state else "",
        codes=text,
        others=others,
    )


def about_steps(found: Vector) -> str:
    """Return in words what happens in a vector."""
    flagged, abstain, alarm = (found.count(field) for field in ("flagged", "abstain", "alarm"))
    seen = f"{flagged} flagged, {abstain} abstain, {alarm} in alarm"
    repeated = len(found) - found.singles
    if not found.state:
        return f"{found.singles} from a fresh start, {repeated} of repeated stretches; {seen}"
    start = f"{found.late} from a fresh start, {found.singles - found.late} from a saved state"
    return f"{start}, {repeated} of repeated stretches; {seen}"


def _unseen(found: Vector) -> str:
    """Return a sentence on what could not be made to happen, and so is not checked."""
    missing = [*found.unseen] if found.state else [*found.unseen, "saving and loading a state of this size"]
    return f" Not covered, as these parameters did not show it: {'; '.join(missing)}." if missing else ""


def _comment(text: str) -> str:
    return "\n * ".join(textwrap.wrap(text, 98))


def selfcheck_source(contents: Contents, found: Vector) -> str:
    """Return the source of a self-check."""
    name, has_features = contents.name, contents.params.features > 0
    tables = [_rows(f"{name}_check_probs", found.probs)]
    if has_features:
        tables.append(_rows(f"{name}_check_features", found.features))
    digests = [f"{found.said[i : i + 1].digest()}u" for i in range(found.singles)]
    about = "/* A digest of everything that one step gives. */"
    tables.append(
        "\n".join([about, f"static const uint32_t {name}_check_steps[] = {{", *lines_of(digests), "};"])
    )
    if found.state:
        state = [f"static const uint8_t {name}_check_state[] = {{", *rows_of(found.state), "};"]
        tables.append("\n".join(state))
    before = calls = ""
    if found.logits is not None and found.shares is not None:
        tables += [_rows(f"{name}_check_logits", found.logits), _rows(f"{name}_check_shares", found.shares)]
        before += contents.fill(texts.SOFTMAX, rows=len(found.logits))
        calls += texts.CALL.format(what="softmax")
    if found.wide is not None and found.narrow is not None:
        tables += [_rows(f"{name}_check_wide", found.wide), _rows(f"{name}_check_narrow", found.narrow)]
        before += contents.fill(texts.PROJECTION, rows=len(found.wide))
        calls += texts.CALL.format(what="projection")
    calls += "    status = tcuq_check_limits(ring);\n    if (status != 0) {\n        return status;\n    }\n"
    saves = found.state != b""
    fresh_count = len(found.fresh)
    den = contents.params.integers()["level_den"]
    low, high = (round(bound * den) for bound in contents.params.debt_bounds)
    return banner() + contents.fill(
        texts.SOURCE,
        tables="\n\n".join(tables),
        laps="\n".join(_lap(lap) for lap in found.laps),
        mixed="\n".join(
            f"    digest = tcuq_check_mix(digest, (uint32_t)got.{field});" for field in step_fields()
        ),
        before=before,
        calls=calls,
        singles=found.singles,
        limits=contents.fill(texts.LIMITS, low=low, high=high),
        fresh=contents.fill(texts.FRESH, fresh_count=fresh_count) if saves else "",
        load=contents.fill(texts.LOAD, late=found.late, fresh_count=fresh_count) if saves else "",
        verify=contents.fill(texts.VERIFY) if saves else "",
        save_option=contents.fill(texts.SAVE_OPTION) if saves else "",
        saved=contents.fill(
            texts.SAVED,
            basis=BASIS,
            forged="\n".join(_changed(each) for each in (*found.fresh, *found.forged)),
        )
        if saves
        else "",
        check_saved=contents.fill(texts.CHECK_SAVED) if saves else "",
        features_argument=f"{name}_check_features[row]" if has_features else "NULL",
        basis=BASIS,
        prime=PRIME,
    )


def _lap(lap: Lap) -> str:
    counts = f"{lap.first}u, {lap.rows}u, {lap.times}u, {int(lap.reset)}u"
    return f"    {{{counts}, {lap.digest}u, {lap.saved}u}},"


def _changed(one: Forged) -> str:
    return f"    {{{one.at}u, {one.size}u, {int(one.loads)}u, {one.value}u}},"


def _rows(name: str, table: npt.NDArray[np.int8]) -> str:
    lines = [f"static const int8_t {name}[{table.shape[0]}][{table.shape[1]}] = {{"]
    for row in table.tolist():
        first, *rest = rows_of(row)
        body = [f"    {{{first.strip()}", *rest]
        body[-1] += "},"
        lines += body
    return "\n".join([*lines, "};"])
