"""The text of a self-check: on the target, a stored stream must give what Python's core gave at export."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .contents import Contents
from .csource import banner, rows_of
from .vector import Vector

_HEADER = """\
#ifndef {NAME}_SELFCHECK_H
#define {NAME}_SELFCHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Steps that are replayed: {about}. */
#define {NAME}_SELFCHECK_STEPS {steps}u
{codes}
/* Replay a stored stream with the parameters of {name} and compare every field of every step with
 * what the core gave on the computer that exported them. `ring` is at least {NAME}_RING_BYTES bytes
 * and may be the memory that the monitor gets afterwards: nothing of the check remains.
 * Return 0 when all is equal, the first step that differs, from 1, or a negative number: an error of
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

{tables}

/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const tcuq_check_params = &{name};

static int tcuq_check_same(const tcuq_step_t *a, const tcuq_step_t *b)
{{
    return a->threshold == b->threshold && a->label == b->label && a->risk == b->risk &&
           a->uncertainty == b->uncertainty && a->flagged == b->flagged && a->abstain == b->abstain &&
           a->alarm == b->alarm && a->warming_up == b->warming_up && a->reason == b->reason &&
           a->low_mass == b->low_mass;
}}
{before}
int {name}_selfcheck(uint32_t *ring, size_t ring_bytes)
{{
    tcuq_t monitor;
    int i, status = tcuq_init(&monitor, tcuq_check_params, ring, ring_bytes);
    if (status != TCUQ_OK) {{
        return status;
    }}
{calls}    for (i = 0; i < {steps}; i++) {{
        tcuq_step_t got;
{load}        tcuq_step(&monitor, {name}_check_probs[i], {features_argument}, &got, NULL);
        if (!tcuq_check_same(&got, &{name}_check_steps[i])) {{
            return i + 1;
        }}
    }}
    return 0;
}}
"""

_LOAD = """\
        if (i == {late}) {{
            status = tcuq_load(&monitor, {name}_check_state, sizeof {name}_check_state);
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
    text = "".join(contents.fill(_CODE, what=what, number=n, about=about) for what, n, about in codes)
    others = "".join(f", or {contents.macro}_SELFCHECK_{what}" for what, _, _ in codes)
    return banner() + contents.fill(
        _HEADER, steps=len(found), about=about_steps(found), codes=text, others=others
    )


def about_steps(found: Vector) -> str:
    """Return in words what happens in a vector."""
    flagged, abstain, alarm = (found.count(field) for field in ("flagged", "abstain", "alarm"))
    seen = f"{flagged} flagged, {abstain} abstain, {alarm} in alarm"
    if not found.state:
        return f"all from a fresh start; {seen}"
    return f"{found.late} from a fresh start, {len(found) - found.late} from a saved state; {seen}"


def selfcheck_source(contents: Contents, found: Vector) -> str:
    """Return the source of a self-check."""
    name, has_features = contents.name, contents.params.features > 0
    steps = [f"    {{{', '.join(map(str, row))}}}," for row in found.expected.tolist()]
    tables = [_rows(f"{name}_check_probs", found.probs)]
    if has_features:
        tables.append(_rows(f"{name}_check_features", found.features))
    tables.append("\n".join([f"static const tcuq_step_t {name}_check_steps[] = {{", *steps, "};"]))
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
    return banner() + contents.fill(
        _SOURCE,
        tables="\n\n".join(tables),
        before=before,
        calls=calls,
        steps=len(found),
        load=contents.fill(_LOAD, late=found.late) if found.state else "",
        features_argument=f"{name}_check_features[i]" if has_features else "NULL",
    )


def _rows(name: str, table: npt.NDArray[np.int8]) -> str:
    lines = [f"static const int8_t {name}[{table.shape[0]}][{table.shape[1]}] = {{"]
    for row in table.tolist():
        first, *rest = rows_of(row)
        body = [f"    {{{first.strip()}", *rest]
        body[-1] += "},"
        lines += body
    return "\n".join([*lines, "};"])
