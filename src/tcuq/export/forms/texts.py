"""Sentences that the pages of several forms share."""

from __future__ import annotations

IN_C = """\
```c
#include "{name}.h"
#include "{name}_selfcheck.h"

static uint32_t memory[{NAME}_RING_BYTES / 4u];
static tcuq_t watch;

int start(void)
{{
    int status = {name}_selfcheck(memory, sizeof memory);
    return status != 0 ? status : tcuq_init(&watch, &{name}, memory, sizeof memory);
}}
```

After every inference, with `{outputs}` as int8{inputs}:

```c
{calls}
/* step.abstain: do not act on step.answer. step.alarm: the stream has become worse. */
{said}```

"""

SEND_EXAMPLE = "`examples/send_frames.c` is an example: put your UART where it writes to standard output."
"""Of forms that have such an example."""


def two_folders(how: str) -> str:
    """Return what is said of several monitors that lie in folders of their own."""
    return (
        "They share the files that begin with `tcuq`. Export each one into a folder of its own, by one\n"
        f"version of tcuq. {how}"
    )
