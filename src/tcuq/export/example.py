"""The text of a program that tries an exported monitor on a computer."""

from __future__ import annotations

import textwrap

from .contents import Contents
from .csource import banner

_MAIN = """\
/* Try the monitor on a computer and compare it with Python:
 *
 *   cc -std=c99 main.c {sources} -o try_{name}
 *   ./try_{name} < rows.txt
 *
 * Each row holds {row_text}, decimal int8
 * values separated by spaces. What is said of each is one line:
 * {columns}.
 */
#include <stdio.h>

#include "{name}.h"
{names}#include "{name}_selfcheck.h"

/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const tcuq_try_params = &{name};

{names_table}/* Read `count` int8 values. Return 1, 0 at the end of the input before the first one, or -1. */
static int tcuq_try_read(int8_t *row, size_t count)
{{
    size_t i;
    for (i = 0; i < count; i++) {{
        int value;
        int got = scanf("%d", &value);
        if (got == EOF && i == 0) {{
            return 0;
        }}
        if (got != 1 || value < -128 || value > 127) {{
            return -1;
        }}
        row[i] = (int8_t)value;
    }}
    return 1;
}}

int main(void)
{{
    static uint32_t ring[{NAME}_RING_BYTES / 4u];
    static int8_t row[{row_size}];
{buffers}    tcuq_t state;
    unsigned long count = 0;
    int status = {name}_selfcheck(ring, sizeof ring);
    if (status != 0) {{
        fprintf(stderr, "{name}_selfcheck: %d\\n", status);
        return 1;
    }}
    /* Not on standard output, which holds the lines above alone. */
    fprintf(stderr, "self-check passed: %lu steps\\n", (unsigned long){NAME}_SELFCHECK_STEPS);
    status = tcuq_init(&state, tcuq_try_params, ring, sizeof ring);
    if (status != TCUQ_OK) {{
        fprintf(stderr, "tcuq_init: error %d\\n", status);
        return 2;
    }}
    while ((status = tcuq_try_read(row, sizeof row)) == 1) {{
        tcuq_step_t step;
{before}        tcuq_step(&state, row, {features_argument}, &step, NULL);
        printf("%u %u %ld %u %u", (unsigned)step.answer, (unsigned)step.risk, (long)step.threshold,
               (unsigned)step.abstain, (unsigned)step.alarm);
{more}        putchar('\\n');
        count++;
    }}
    if (status < 0) {{
        fprintf(stderr, "row %lu: expected {row_width} integers in -128 to 127\\n", count + 1);
        return 2;
    }}
    return 0;
}}
"""


_SEVERITY = """\
        printf(" %ld", (long)step.severity);
"""

_EXPECTED = """\
        printf(" %u", (unsigned)step.expected_accuracy);
"""

_NAMED = """\
        printf(" %s", tcuq_try_names[step.answer]);
"""

_NAMES = """\
/* Named here for the same reason. */
static const char *const *const tcuq_try_names = {name}_names;

"""


def main_text(contents: Contents) -> str:
    """Return a host program that checks the monitor and runs it on rows from standard input."""
    macro, features = contents.macro, contents.params.features
    buffers = before = ""
    if contents.logits_scale is not None:
        before += f"        tcuq_softmax({contents.name}_softmax, row, {macro}_CLASSES, row);\n"
    if contents.projection is not None:
        buffers = f"    int8_t features[{macro}_FEATURES];\n"
        before += f"        tcuq_project(&{contents.name}_projection, row + {macro}_CLASSES, features);\n"
        argument, wide = "features", f"{macro}_WIDE_FEATURES"
    else:
        argument = f"row + {macro}_CLASSES" if features else "NULL"
        wide = f"{macro}_FEATURES"
    params = contents.params
    columns, more = "answer, risk, threshold, abstain, alarm", ""
    if params.evidence is not None:
        columns, more = f"{columns}, severity", more + _SEVERITY
    if params.horizon:
        columns, more = f"{columns}, expected accuracy", more + _EXPECTED
    columns += " (risk and the like in 1/65536)"
    if params.names is not None:
        columns, more = f"{columns}, name of the answer", more + _NAMED
    first = "posteriors" if contents.logits_scale is None else "logits"
    row_text = f"{contents.params.classes} {first}"
    if contents.width:
        row_text += f" and {contents.width} {'features' if contents.projection is None else 'wide features'}"
    return banner() + contents.fill(
        _MAIN,
        row_text=row_text,
        row_size=f"{macro}_CLASSES + {wide}",
        row_width=contents.params.classes + contents.width,
        buffers=buffers,
        before=before,
        features_argument=argument,
        columns="\n * ".join(textwrap.wrap(columns, 98)),
        more=more,
        names=contents.fill('#include "{name}_names.h"\n') if params.names is not None else "",
        names_table=contents.fill(_NAMES) if params.names is not None else "",
    )
