"""The text of a self-check: on the target, a stored stream must give what Python's core gave at export."""

from __future__ import annotations

import textwrap

import numpy as np
import numpy.typing as npt

from .contents import Contents
from .csource import banner
from .laps import Lap
from .tables import lines_of, rows_of
from .transcript import BASIS, PRIME, step_fields
from .vector import Vector

_HEADER = """\
#ifndef {NAME}_SELFCHECK_H
#define {NAME}_SELFCHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* {about} */
#define {NAME}_SELFCHECK_STEPS {steps}u
{codes}
/* Replay a stored stream with the parameters of {name} and compare what comes out with what the core
 * gave on the computer that exported them: every field and every signal of every step{saves}.
 * `ring` is at least {NAME}_RING_BYTES bytes and may be the memory that the monitor gets
 * afterwards: nothing of the check remains.
 * Return 0 when all is equal, or the step, from 1, by which something differs: the very step up to
 * step {singles}, the end of a repeated stretch after that. A negative number is an error of
 * tcuq_init() or tcuq_load(){others}. */
int {name}_selfcheck(uint32_t *ring, size_t ring_bytes);

#ifdef __cplusplus
}}
#endif

#endif
"""

_CODE = "/* {about} */\n#define {NAME}_SELFCHECK_{what} ({number})\n"

_SOURCE = """\
#include "{name}_selfcheck.h"

#include "{name}.h"
{save_option}
{tables}

/* Rows that are played `times` times over, and the digests of what comes out and of the state after. */
static const struct {{
    uint16_t first, rows, times, reset;
    uint32_t digest, saved;
}} {name}_check_laps[] = {{
{laps}
}};

/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const tcuq_check_params = &{name};

/* One more word: no two words lead to the same digest. */
static uint32_t tcuq_check_mix(uint32_t digest, uint32_t word)
{{
    return (uint32_t)((digest ^ word) * (uint32_t){prime}u);
}}

/* Take one step and add everything that it gives to a digest. */
static uint32_t tcuq_check_step(tcuq_t *state, size_t row, uint32_t digest)
{{
    tcuq_step_t got;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    size_t i;
    tcuq_step(state, {name}_check_probs[row], {features_argument}, &got, signals);
{mixed}
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {{
        digest = tcuq_check_mix(digest, signals[i]);
    }}
    return digest;
}}
{saved}{before}
int {name}_selfcheck(uint32_t *ring, size_t ring_bytes)
{{
    tcuq_t state;
    size_t lap, i, j;
    int step = 0;
    int status = tcuq_init(&state, tcuq_check_params, ring, ring_bytes);
    if (status != TCUQ_OK) {{
        return status;
    }}
{calls}    for (i = 0; i < {singles}u; i++) {{
{load}        step++;
        if (tcuq_check_step(&state, i, (uint32_t){basis}u) != {name}_check_steps[i]) {{
            return step;
        }}
    }}
    for (lap = 0; lap < sizeof {name}_check_laps / sizeof {name}_check_laps[0]; lap++) {{
        uint32_t digest = (uint32_t){basis}u;
        if ({name}_check_laps[lap].reset != 0u) {{
            tcuq_reset(&state);
        }}
        for (j = 0; j < {name}_check_laps[lap].times; j++) {{
            for (i = 0; i < {name}_check_laps[lap].rows; i++) {{
                step++;
                digest = tcuq_check_step(&state, {name}_check_laps[lap].first + i, digest);
            }}
        }}
        if (digest != {name}_check_laps[lap].digest) {{
            return step;
        }}
{check_saved}    }}
    return 0;
}}
"""

_SAVE_OPTION = """
/* 0 leaves out the check of saved states, and its buffer of {NAME}_STATE_BYTES bytes of RAM. */
#ifndef TCUQ_SELFCHECK_SAVE
#define TCUQ_SELFCHECK_SAVE 1
#endif
"""

_SAVED = """
#if TCUQ_SELFCHECK_SAVE
/* Return whether the state of a monitor is saved as bytes of this digest. */
static int tcuq_check_saved(const tcuq_t *state, uint32_t expected)
{{
    static uint8_t bytes[{NAME}_STATE_BYTES];
    uint32_t digest = (uint32_t){basis}u;
    size_t i;
    if (tcuq_save(state, bytes, sizeof bytes) != (int)sizeof bytes) {{
        return 0;
    }}
    for (i = 0; i < sizeof bytes; i++) {{
        digest = tcuq_check_mix(digest, bytes[i]);
    }}
    return digest == expected;
}}
#endif
"""

_CHECK_SAVED = """\
#if TCUQ_SELFCHECK_SAVE
        if (!tcuq_check_saved(&state, {name}_check_laps[lap].saved)) {{
            return {NAME}_SELFCHECK_SAVED;
        }}
#endif
"""

_LOAD = """\
        if (i == {late}u) {{
            status = tcuq_load(&state, {name}_check_state, sizeof {name}_check_state);
            if (status != TCUQ_OK) {{
                return status;
            }}
        }}
"""

_SOFTMAX = """
static int tcuq_check_softmax(void)
{{
    int8_t got[{NAME}_CLASSES];
    size_t row, i;
    for (row = 0; row < {rows}u; row++) {{
        tcuq_softmax({name}_softmax, {name}_check_logits[row], sizeof got, got);
        for (i = 0; i < sizeof got; i++) {{
            if (got[i] != {name}_check_shares[row][i]) {{
                return {NAME}_SELFCHECK_SOFTMAX;
            }}
        }}
    }}
    return 0;
}}
"""

_PROJECTION = """
static int tcuq_check_projection(void)
{{
    int8_t got[{NAME}_FEATURES];
    size_t row, i;
    for (row = 0; row < {rows}u; row++) {{
        tcuq_project(&{name}_projection, {name}_check_wide[row], got);
        for (i = 0; i < sizeof got; i++) {{
            if (got[i] != {name}_check_narrow[row][i]) {{
                return {NAME}_SELFCHECK_PROJECTION;
            }}
        }}
    }}
    return 0;
}}
"""

_CALL = """\
    status = tcuq_check_{what}();
    if (status != 0) {{
        return status;
    }}
"""


def selfcheck_header(contents: Contents, found: Vector) -> str:
    """Return the header of a self-check."""
    codes = []
    if found.logits is not None:
        codes.append(("SOFTMAX", -10, "The posteriors of stored logits differ."))
    if found.wide is not None:
        codes.append(("PROJECTION", -11, "The projection of stored wide features differs."))
    if found.state:
        codes.append(("SAVED", -12, "A saved state differs."))
    text = "".join(contents.fill(_CODE, what=what, number=n, about=about) for what, n, about in codes)
    others = "".join(f", or {contents.macro}_SELFCHECK_{what}" for what, _, _ in codes)
    return banner() + contents.fill(
        _HEADER,
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
        before += contents.fill(_SOFTMAX, rows=len(found.logits))
        calls += _CALL.format(what="softmax")
    if found.wide is not None and found.narrow is not None:
        tables += [_rows(f"{name}_check_wide", found.wide), _rows(f"{name}_check_narrow", found.narrow)]
        before += contents.fill(_PROJECTION, rows=len(found.wide))
        calls += _CALL.format(what="projection")
    saves = found.state != b""
    return banner() + contents.fill(
        _SOURCE,
        tables="\n\n".join(tables),
        laps="\n".join(_lap(lap) for lap in found.laps),
        mixed="\n".join(
            f"    digest = tcuq_check_mix(digest, (uint32_t)got.{field});" for field in step_fields()
        ),
        before=before,
        calls=calls,
        singles=found.singles,
        load=contents.fill(_LOAD, late=found.late) if saves else "",
        save_option=contents.fill(_SAVE_OPTION) if saves else "",
        saved=contents.fill(_SAVED, basis=BASIS) if saves else "",
        check_saved=contents.fill(_CHECK_SAVED) if saves else "",
        features_argument=f"{name}_check_features[row]" if has_features else "NULL",
        basis=BASIS,
        prime=PRIME,
    )


def _lap(lap: Lap) -> str:
    counts = f"{lap.first}u, {lap.rows}u, {lap.times}u, {int(lap.reset)}u"
    return f"    {{{counts}, {lap.digest}u, {lap.saved}u}},"


def _rows(name: str, table: npt.NDArray[np.int8]) -> str:
    lines = [f"static const int8_t {name}[{table.shape[0]}][{table.shape[1]}] = {{"]
    for row in table.tolist():
        first, *rest = rows_of(row)
        body = [f"    {{{first.strip()}", *rest]
        body[-1] += "},"
        lines += body
    return "\n".join([*lines, "};"])
