"""The text of a program that watches a model, with a placeholder where the model goes."""

from __future__ import annotations

from dataclasses import dataclass

from .contents import Contents


def parts(contents: Contents, indent: str, note: str) -> dict[str, object]:
    """Return what every such program has, by the field of its text."""
    name, macro, params = contents.name, contents.macro, contents.params
    buffers = features = before = ""
    argument = "NULL"
    if contents.width:
        wide = "wide_features" if contents.projection else "features"
        buffers = f"static int8_t {name}_{wide}[{macro}_{wide.upper()}];\n"
        said = f"{'Wide features' if contents.projection else 'Features'} as int8, as the model has them."
        features = (
            f"{indent}{note.format(said)}\n"
            f"{indent}for (size_t i = 0; i < {macro}_{wide.upper()}; i++) {{\n"
            f"{indent}{indent}{name}_{wide}[i] = (int8_t)(i % 16u);\n{indent}}}\n"
        )
        argument = f"{name}_features"
    if contents.logits_scale is not None:
        before += f"{indent}tcuq_softmax({name}_softmax, {name}_outputs, {macro}_CLASSES, {name}_outputs);\n"
    if contents.projection is not None:
        buffers += f"static int8_t {name}_features[{macro}_FEATURES];\n"
        before += f"{indent}tcuq_project(&{name}_projection, {name}_wide_features, {name}_features);\n"
    logits = f"Logits as int8, scale {contents.logits_scale:g}." if contents.logits_scale is not None else ""
    return {
        "outputs_text": logits or "Posteriors as an int8 softmax leaves them: scale 1/256, zero point -128.",
        "first": 64,
        "rest": 0 if logits else 64 // max(1, params.classes - 1) - 128,
        "buffers": buffers,
        "features": features,
        "before": before,
        "argument": argument,
    }


_WATCH = """\
/* Watch a model: check the monitor once, then take one step after every inference.
 * read_model() is a placeholder; put the outputs of your own model there. */
{includes}
/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const watch_params = &{name};
static tcuq_t {name}_state;
static uint32_t {name}_ring[{NAME}_RING_BYTES / 4u];
static int8_t {name}_outputs[{NAME}_CLASSES];
{buffers}
static void read_model(void)
{{
    /* {outputs_text} */
    for (size_t i = 0; i < {NAME}_CLASSES; i++) {{
        {name}_outputs[i] = (int8_t)(i == 0 ? {first} : {rest});
    }}
{features}}}

{main}
{{
    int status = {name}_selfcheck({name}_ring, sizeof {name}_ring);
    if (status != 0) {{
        {say}("self-check failed: %d\\n", status);
        return{failed};
    }}
    {say}("self-check passed\\n");
    status = tcuq_init(&{name}_state, watch_params, {name}_ring, sizeof {name}_ring);
    if (status != 0) {{
        {say}("tcuq_init failed: %d\\n", status);
        return{failed};
    }}
    for (int count = 0; count < 10; count++) {{
        tcuq_step_t step;
        read_model();
{before}        tcuq_step(&{name}_state, {name}_outputs, {argument}, &step, NULL);
        {say}("{answer_format} %s%s\\n", {answer}, step.abstain ? "ABSTAIN" : "ACCEPT",
{pad}step.alarm ? " ALARM" : "");
{pause}    }}
{end}}}
"""

TAKEN = frozenset(("read_model", "watch_params"))
"""Names that this program has at file scope."""

_SEND = """\
/* Send what the monitor decides as frames, for `tcuq live` on a computer; SPEC.md section 18 has every byte.
 * uart_write() and read_model() are placeholders: here frames go to standard output. */
#include <stdio.h>

#include "{name}.h"
#include "{name}_selfcheck.h"
#include "tcuq_frame.h"

/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const watch_params = &{name};
static tcuq_t {name}_state;
static uint32_t {name}_ring[{NAME}_RING_BYTES / 4u];
static tcuq_frame_t {name}_frame;
static uint8_t {name}_frame_bytes[TCUQ_FRAME_SIZE];
static int8_t {name}_outputs[{NAME}_CLASSES];
{buffers}
static void uart_write(const uint8_t *bytes, size_t size)
{{
    fwrite(bytes, 1, size, stdout);
}}

static void send_frame(size_t size)
{{
    if (size > 0u) {{
        uart_write({name}_frame.bytes, size);
    }}
}}

static void read_model(void)
{{
    /* {outputs_text} */
    for (size_t i = 0; i < {NAME}_CLASSES; i++) {{
        {name}_outputs[i] = (int8_t)(i == 0 ? {first} : {rest});
    }}
{features}}}

int main(void)
{{
    /* Larger at every start of the device: a counter in flash, or the time in seconds. */
    const uint32_t boot = 1;
    int status = {name}_selfcheck({name}_ring, sizeof {name}_ring);
    if (status == 0) {{
        status = tcuq_init(&{name}_state, watch_params, {name}_ring, sizeof {name}_ring);
    }}
    if (status == 0) {{
        status = tcuq_frame_init(&{name}_frame, watch_params, TCUQ_FRAME_DECISIONS, boot, {name}_frame_bytes,
                                 sizeof {name}_frame_bytes);
    }}
    if (status != 0) {{
        printf("start failed: %d\\n", status); /* whole lines of text may stand between frames */
        return 1;
    }}
    for (int count = 1; count <= 100; count++) {{
        tcuq_step_t step;
        read_model();
{before}        tcuq_step(&{name}_state, {name}_outputs, {argument}, &step, NULL);
        send_frame(tcuq_frame_decision(&{name}_frame, &step));
        if (count % 10 == 0) {{ /* once a second, at 10 steps a second: nothing waits for long */
            send_frame(tcuq_frame_flush(&{name}_frame));
        }}
    }}
    return 0;
}}
"""

SEND_TAKEN = TAKEN | {"uart_write", "send_frame"}
"""Names that the program above has at file scope."""


@dataclass(frozen=True)
class Dialect:
    """How a platform prints, waits and begins."""

    includes: str
    say: str = "printf"
    main: str = "int main(void)"
    pause: str = ""
    returns: bool = True


def watch_text(contents: Contents, dialect: Dialect) -> str:
    """Return a C program that watches a model on one platform."""
    names = contents.params.names is not None
    own = [
        f"{contents.name}.h",
        *([f"{contents.name}_names.h"] if names else []),
        f"{contents.name}_selfcheck.h",
    ]
    return contents.fill(
        _WATCH,
        **_deeper(contents),
        includes=dialect.includes + "\n" + "".join(f'#include "{file}"\n' for file in own),
        say=dialect.say,
        main=dialect.main,
        failed=" 1" if dialect.returns else "",
        answer_format="%s" if names else "%u",
        answer=f"{contents.name}_names[step.answer]" if names else "(unsigned)step.answer",
        pad=" " * (9 + len(dialect.say)),
        pause=f"        {dialect.pause}\n" if dialect.pause else "",
        end="    return 0;\n" if dialect.returns else "",
    )


def send_text(contents: Contents) -> str:
    """Return a C program that sends decisions as frames."""
    return contents.fill(_SEND, **_deeper(contents))


def _deeper(contents: Contents) -> dict[str, object]:
    """Return the parts of a C program, where the calls before a step stand one level deeper."""
    found = parts(contents, "    ", "/* {} */")
    deeper = "".join(f"    {line}\n" for line in str(found["before"]).splitlines())
    return {**found, "before": deeper}
