"""A user C module of MicroPython, which is compiled into the firmware."""

from __future__ import annotations

from typing import Any

from ..contents import Contents
from ..csource import banner
from ..templates import render
from .form import Form
from .texts import two_folders

_USE = """\
## Use

A user C module is compiled into MicroPython. Put this folder, as `tcuq_{name}`, into a folder of modules and
build MicroPython with it:

    cd micropython/ports/unix && make USER_C_MODULES=/path/to/modules
    cd micropython/ports/rp2 && make USER_C_MODULES=/path/to/modules/tcuq_{name}/micropython.cmake

Then, in Python, with `{outputs}` as int8{inputs}, in an `array('b')` or as bytes:

```python
import tcuq_{name}

assert tcuq_{name}.selfcheck() == 0
monitor = tcuq_{name}.Monitor()

step = monitor.step({arguments})  # after every inference
# step.abstain: do not act on step.answer. step.alarm: the stream has become worse.
```

A step is a named tuple: `answer`, `abstain`, `alarm`, `risk`, `threshold`, `prediction` and more; risk
and the like are integers, 65536 for 1. `reset()` forgets the past after a gap; `save()` gives the state as
bytes, `load(bytes)` goes on from it. {names_text}

`micropython examples/watch.py` runs an example, which begins with the self-check.
"""

_FRAMES = """\
In Python, with a `boot` that is larger at every start:
`frames = tcuq_{name}.Frames(boot)`, after each step `uart.write(frames.add(monitor))`, and once a second
`uart.write(frames.flush())`."""

_MAKE = """\
ifndef SHARED_TCUQ_{PART}_DIR
SHARED_TCUQ_{PART}_DIR := $(TCUQ_{NAME}_DIR)/src
SRC_USERMOD_LIB_C += $(addprefix $(SHARED_TCUQ_{PART}_DIR)/, {files})
endif
"""

_CMAKE = """\
if(NOT TARGET usermod_tcuq-{part})
    add_library(usermod_tcuq-{part} INTERFACE)
    target_sources(usermod_tcuq-{part} INTERFACE
{files}    )
    target_link_libraries(usermod INTERFACE usermod_tcuq-{part})
endif()
"""

_NAME_FUNCTION = """
/* name(answer): the name of a class. */
static mp_obj_t module_name(mp_obj_t answer)
{{
    mp_int_t number = mp_obj_get_int(answer);
    if (number < 0 || number >= (mp_int_t){NAME}_CLASSES) {{
        mp_raise_ValueError(MP_ERROR_TEXT("no such class"));
    }}
    return mp_obj_new_str_from_cstr({name}_names[number]);
}}
static MP_DEFINE_CONST_FUN_OBJ_1(module_name_obj, module_name);
"""

_FEEDBACK_FUNCTION = """
/* feedback(ago, label): the truth about a past step, 0 for the last one: a class, -1 for a right answer, -2
 * for a wrong one. False where it had a label; ValueError where it is too long ago. */
static mp_obj_t monitor_feedback(mp_obj_t self_in, mp_obj_t ago, mp_obj_t label)
{
    monitor_obj_t *self = MP_OBJ_TO_PTR(self_in);
    int status = tcuq_feedback(&self->monitor, (uint32_t)mp_obj_get_int(ago), (int32_t)mp_obj_get_int(label));
    check(status);
    return mp_obj_new_bool(status);
}
static MP_DEFINE_CONST_FUN_OBJ_3(monitor_feedback_obj, monitor_feedback);
"""

_FEEDBACK_ENTRY = "    {MP_ROM_QSTR(MP_QSTR_feedback), MP_ROM_PTR(&monitor_feedback_obj)},\n"

_NAME_ENTRY = "    {MP_ROM_QSTR(MP_QSTR_name), MP_ROM_PTR(&module_name_obj)},\n"


def _inputs(contents: Contents) -> dict[str, Any]:
    """Return how step() takes what the network gives."""
    macro, wide = contents.macro, contents.projection is not None
    names = ["logits" if contents.logits_scale is not None else "posteriors"]
    names += ["wide" if wide else "features"] if contents.width else []
    lines = [f"const int8_t *given = int8_values(probs_in, {macro}_CLASSES);"]
    width = f"{macro}_WIDE_FEATURES" if wide else f"{macro}_FEATURES"
    probs, features = "given", "NULL"
    if contents.width:
        lines.append(f"const int8_t *read = int8_values(features_in, {width});")
        features = "read"
    if contents.logits_scale is not None:
        lines += [
            f"int8_t probs[{macro}_CLASSES];",
            f"tcuq_softmax({contents.name}_softmax, given, {macro}_CLASSES, probs);",
        ]
        probs = "probs"
    if wide:
        lines += [
            f"int8_t features[{macro}_FEATURES];",
            f"tcuq_project(&{contents.name}_projection, read, features);",
        ]
        features = "features"
    arguments = "mp_obj_t self_in, mp_obj_t probs_in" + (", mp_obj_t features_in" if contents.width else "")
    return {
        "step_arguments": ", ".join(names),
        "step_head": f"static mp_obj_t monitor_step({arguments})\n",
        "step_inputs": "".join(f"    {line}\n" for line in lines),
        "step_probs": probs,
        "step_features": features,
        "step_count": 3 if contents.width else 2,
        "width_macro": width,
    }


def _read_model(contents: Contents) -> str:
    logits = contents.logits_scale is not None
    rest = 0 if logits else 64 // max(1, contents.params.classes - 1) - 128
    about = (
        f"logits of scale {contents.logits_scale:g}" if logits else "posteriors: scale 1/256, zero point -128"
    )
    lines = [f'"""Return {about}."""' if not contents.width else f'"""Return {about}; and features."""']
    lines.append(f'outputs = array("b", [64] + [{rest}] * {contents.params.classes - 1})')
    if contents.width:
        lines.append(f'features = array("b", [i % 16 for i in range({contents.width})])')
    lines.append("return outputs, features" if contents.width else "return (outputs,)")
    return "".join(f"    {line}\n" for line in lines)


def _files(contents: Contents) -> dict[str, str]:
    name, names, labels = contents.name, contents.params.names is not None, contents.params.feedback
    shared = contents.shared
    make = "".join(
        contents.fill(_MAKE, PART=part.upper(), files=" ".join(files)) for part, files in shared.items()
    )
    cmake = "".join(
        _CMAKE.format(
            part=part, files="".join(f"        ${{CMAKE_CURRENT_LIST_DIR}}/src/{file}\n" for file in files)
        )
        for part, files in shared.items()
    )
    module = render(
        "micropython/module.c",
        contents,
        **_inputs(contents),
        names_include=f'#include "{name}_names.h"\n' if names else "",
        name_function=contents.fill(_NAME_FUNCTION) if names else "",
        name_entry=_NAME_ENTRY if names else "",
        feedback_function=_FEEDBACK_FUNCTION if labels is not None else "",
        feedback_entry=_FEEDBACK_ENTRY if labels is not None else "",
    )
    return {
        "micropython.mk": render(
            "micropython/micropython.mk", contents, banner=banner("# {}"), shared_make=make
        ),
        "micropython.cmake": render(
            "micropython/micropython.cmake", contents, banner=banner("# {}"), shared_cmake=cmake
        ),
        f"modtcuq_{name}.c": banner() + module,
        "examples/watch.py": render(
            "micropython/watch.py",
            contents,
            banner=banner("# {}"),
            read_model=_read_model(contents),
            answer=f"tcuq_{name}.name(step.answer)" if names else "step.answer",
        ),
    }


def _place(contents: Contents, file: str) -> str:
    return "LICENSE" if file == "tcuq_LICENSE.txt" else f"src/{file}"


def _more(contents: Contents) -> dict[str, Any]:
    named = contents.params.names is not None
    return {
        "arguments": _inputs(contents)["step_arguments"],
        "names_text": f"`tcuq_{contents.name}.name(step.answer)` names a class." if named else "",
    }


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        "try it: put the folder into modules/, then"
        " make -C micropython/ports/unix USER_C_MODULES=/path/to/modules",
        f"use it: import tcuq_{contents.name}",
    ]


MICROPYTHON = Form(
    name="micropython",
    header="src/tcuq.h",
    manifest="micropython.mk",
    files=_files,
    hints=_hints,
    use=_USE,
    together=two_folders("Put both among your modules: the first brings the core, once."),
    rows={
        "modtcuq_{name}.c": "classes Monitor and Frames, function selfcheck() for Python",
        "micropython.mk, micropython.cmake": "what MicroPython's build reads",
        "examples/watch.py": "an example that begins with the self-check",
    },
    more=_more,
    place=_place,
    frames=_FRAMES,
    selfcheck="tcuq_{name}.selfcheck()",
    platform="MicroPython uses",
    taken=frozenset(
        ("module_params", "monitor_obj", "int8_values", "check", "micropython", "fields", "module_name")
    ),
    starts=("mp_", "m_", "vstr_", "qstr", "monitor_", "frames_", "module_"),
)
