"""A Rust crate: the C with a thin safe wrapper, without `std` and without other crates."""

from __future__ import annotations

import json
import re
import shlex
from importlib import resources
from typing import Any

from ..contents import Contents
from ..csource import banner
from ..templates import lines, render
from .form import Form
from .texts import two_folders

_TYPES = {
    **{f"{sign}int{bits}_t": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32)},
    "const tcuq_params_t *": "*const tcuq_params_t",
    "uint32_t *": "*mut u32",
    "uint8_t *": "*mut u8",
}

_PROJECTION_TYPE = """\
/// A projection, of which Rust needs the address only.
#[repr(C)]
pub struct tcuq_projection_t {
    _opaque: [u8; 0],
}

"""

_EXTERN_FEEDBACK = """\
    pub fn tcuq_feedback(monitor: *mut tcuq_t, ago: u32, label: i32) -> c_int;
"""


def struct_of(header: str, struct: str) -> list[tuple[str, str]]:
    """Return type and name of every field of a struct in a C header; an array has its length in its type."""
    bare = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = re.findall(rf"typedef struct \{{([^{{}}]*)\}} {struct};", bare)[0]
    numbers = dict(re.findall(r"#define (\w+) (\d+)u?\b", bare))
    found = re.findall(r"([\w ]+?\*?) ?(\w+)(?:\[(\w+)\])?;", body)
    return [
        (kind.strip() + (f"[{numbers.get(count, count)}]" if count else ""), name)
        for kind, name, count in found
    ]


def _structs() -> dict[str, list[tuple[str, str]]]:
    package = resources.files("tcuq")
    header = (package / "core" / "tcuq.h").read_text(encoding="utf-8")
    header += (package / "export" / "c" / "tcuq_frame.h").read_text(encoding="utf-8")
    return {struct: struct_of(header, struct) for struct in ("tcuq_t", "tcuq_step_t", "tcuq_frame_t")}


def _rust_type(kind: str) -> str:
    """Return a type of C as Rust has it."""
    bare, _, count = kind.partition("[")
    return f"[{_TYPES[bare]}; {count}" if count else _TYPES[bare]


def _rust_struct(struct: str, fields: list[tuple[str, str]]) -> str:
    body = "".join(f"    pub {name}: {_rust_type(kind)},\n" for kind, name in fields)
    return f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {struct} {{\n{body}}}\n"


def layout_source(contents: Contents) -> str:
    """Return the C that says how structs lie in memory."""
    rows = []
    for struct, fields in _structs().items():
        rows += [f"sizeof({struct}),", *(f"offsetof({struct}, {name})," for _, name in fields)]
    return (
        banner()
        + "/* How structs lie in memory, for the tests of the crate; nothing else links it. */\n"
        + '#include <stddef.h>\n#include <stdint.h>\n\n#include "tcuq_frame.h"\n\n'
        + f"extern const uint16_t {contents.name}_rust_layout[];\n\n"
        + f"const uint16_t {contents.name}_rust_layout[] = {{\n{lines(rows)}}};\n"
    )


def sys_module(contents: Contents) -> str:
    """Return the Rust that declares the functions and structs of C."""
    structs = _structs()
    rows = []
    for struct, fields in structs.items():
        rows.append(f"size_of::<{struct}>() as u16,")
        rows += [f"offset!({struct}, {name})," for _, name in fields]
    tables = ""
    if contents.logits_scale is not None:
        tables += (
            f'    #[link_name = "{contents.name}_softmax"]\n    pub static SOFTMAX: [u16; 256];\n'
            "    pub fn tcuq_softmax(table: *const u16, logits: *const i8, classes: usize, probs: *mut i8);\n"
        )
    if contents.projection is not None:
        tables += (
            f'    #[link_name = "{contents.name}_projection"]\n'
            "    pub static PROJECTION: tcuq_projection_t;\n"
            "    pub fn tcuq_project(\n        projection: *const tcuq_projection_t,\n"
            "        wide: *const i8,\n        features: *mut i8,\n    );\n"
        )
    return render(
        "rust/sys.rs",
        contents,
        slash_banner=banner("// {}"),
        structs="\n".join(_rust_struct(struct, fields) for struct, fields in structs.items()) + "\n",
        projection_type=_PROJECTION_TYPE if contents.projection is not None else "",
        extern_tables=tables,
        extern_feedback=_EXTERN_FEEDBACK if contents.params.feedback is not None else "",
        layout_count=len(rows),
        layout_rust=lines(rows, 12),
    )


_USE = """\
## Use

Name this folder in the `Cargo.toml` of your firmware:

```toml
[dependencies]
{crate} = {{ path = "path/to/{crate}" }}
```

Check the build once, then take a step after every inference, with posteriors as int8 (scale 1/256, zero
point -128, as an int8 softmax leaves them){rust_inputs}:

```rust
use {crate}::{{selfcheck, Monitor, RING_WORDS}};

selfcheck(&mut [0; RING_WORDS]).unwrap();
let mut monitor = Monitor::new().unwrap();

{rust_calls}
// step.abstain: do not act on step.answer. step.alarm: the stream has become worse.
```

Try it on this computer:

    cargo test
    cargo run --example watch

The crate is `no_std`, has no dependencies and needs no network; Rust 1.63 or later. `build.rs` compiles
`csrc/` with the C compiler of the target: `cc` here, `arm-none-eabi-gcc` for Cortex-M,
`riscv64-unknown-elf-gcc` for RISC-V. `CC_thumbv7em_none_eabi`, `AR_...` and `CFLAGS_...` name others, as for
the crate `cc`. The feature `trim` leaves out the code of signals that this monitor does not use. It was not
tried with the MSVC tool chain.
"""

_FEEDBACK = """
    /// The truth about the step `ago` steps before the last one: a class, -1 for a right answer, -2 for a
    /// wrong one. `Ok(false)` where it had a label; `Error::Size` where it is too long ago.
    pub fn feedback(&mut self, ago: u32, label: i32) -> Result<bool, Error> {
        let raw = self.raw();
        // SAFETY: a monitor that was started.
        let status = unsafe { sys::tcuq_feedback(raw, ago, label) };
        Error::of(status).map(|()| status == 1)
    }
"""

_NAMES = """
/// Names of the classes.
pub const NAMES: [&str; CLASSES] = [
{entries}];
"""

_WIDE = """\
/// Features that the network gives, for [`project`].
pub const WIDE_FEATURES: usize = {width};
"""

_SOFTMAX = """
/// Posteriors from int8 logits of scale {scale:g}, of any zero point.
pub fn softmax(logits: &[i8; CLASSES]) -> [i8; CLASSES] {{
    let mut probs = [0; CLASSES];
    // SAFETY: a constant table, and arrays of the stated length.
    unsafe {{
        sys::tcuq_softmax(addr_of!(sys::SOFTMAX).cast(), logits.as_ptr(), CLASSES, probs.as_mut_ptr())
    }};
    probs
}}
"""

_PROJECT = """
/// Features of the monitor from those of the network.
pub fn project(wide: &[i8; WIDE_FEATURES]) -> [i8; FEATURES] {
    let mut features = [0; FEATURES];
    // SAFETY: a constant projection, and arrays of the lengths that it has.
    unsafe { sys::tcuq_project(addr_of!(sys::PROJECTION), wide.as_ptr(), features.as_mut_ptr()) };
    features
}
"""


def crate_of(contents: Contents) -> str:
    """Return the name of the crate; Rust wants no capitals in it."""
    return f"tcuq_{contents.name.lower()}"


def _lib(contents: Contents) -> str:
    functions = ""
    if contents.logits_scale is not None:
        functions += _SOFTMAX.format(scale=contents.logits_scale)
    if contents.projection is not None:
        functions += _PROJECT
    names = contents.params.names
    entries = "".join(f"    {rust_string(name)},\n" for name in names or ())
    return render(
        "rust/lib.rs",
        contents,
        **_features(contents),
        ring_words=contents.params.ring_bytes // 4,
        wide_constant=contents.fill(_WIDE) if contents.projection is not None else "",
        names_constant=_NAMES.format(entries=entries) if names is not None else "",
        functions=functions,
        feedback_method=_FEEDBACK if contents.params.feedback is not None else "",
    )


def _features(contents: Contents) -> dict[str, str]:
    """Return the fields of a text that depend on whether a step takes features."""
    has, crate = contents.params.features > 0, crate_of(contents)
    row = "    const FEATURE_ROW: [i8; FEATURES] = [5; FEATURES];\n"
    return {
        "slash_banner": banner("// {}"),
        "crate": crate,
        "doc_features_lines": f"//! let features = [0; {crate}::FEATURES];\n" if has else "",
        "doc_features": ", &features" if has else "",
        "step_doc": f",\n    /// and features of zero point {contents.params.feature_zero_point}"
        if has
        else "",
        "step_argument": ", features: &[i8; FEATURES]" if has else "",
        "step_pointer": "features.as_ptr()" if has else "core::ptr::null()",
        "tests_features": f"\n{row}" if has else "",
        "tests_features_here": f"\n{row}" if has else "",
        "test_features": ", &FEATURE_ROW" if has else "",
        "frames_uses": ", FEATURES" if has else "",
        "frames_words": " and features" if has else "",
    }


def _watch(contents: Contents) -> str:
    logits, through = contents.logits_scale is not None, contents.projection is not None
    uses = ["selfcheck", "Monitor", "CLASSES", "RING_WORDS"]
    uses += ["softmax"] if logits else []
    uses += ["project", "WIDE_FEATURES"] if through else ["FEATURES"] if contents.width else []
    uses += ["NAMES"] if contents.params.names is not None else []
    width = "WIDE_FEATURES" if through else "FEATURES"
    kind = f"([i8; CLASSES], [i8; {width}])" if contents.width else "[i8; CLASSES]"
    rest = 0 if logits else 64 // max(1, contents.params.classes - 1) - 128
    about = f"Logits as int8, scale {contents.logits_scale:g}" if logits else "Posteriors as int8"
    read = (
        f"/// {about}{', and features as int8' if contents.width else ''}.\n"
        f"fn read_model() -> {kind} {{\n    let mut outputs = [{rest}; CLASSES];\n    outputs[0] = 64;\n"
        f"    {f'(outputs, [5; {width}])' if contents.width else 'outputs'}\n}}\n"
    )
    probs = "&softmax(&outputs)" if logits else "&outputs"
    features = (", &project(&features)" if through else ", &features") if contents.width else ""
    step = [
        f"let {'(outputs, features)' if contents.width else 'outputs'} = read_model();",
        f"let step = monitor.step({probs}{features});",
    ]
    return render(
        "rust/watch.rs",
        contents,
        slash_banner=banner("// {}"),
        crate=crate_of(contents),
        watch_uses=", ".join(sorted(uses, key=lambda word: (word.isupper(), not word.islower(), word))),
        watch_read=read,
        watch_step=lines(step, 8),
        watch_answer="NAMES[usize::from(step.answer)]" if "NAMES" in uses else "step.answer",
    )


def rust_string(text: str) -> str:
    r"""Return a text as a Rust string literal of printable ASCII.

    Examples
    --------
    >>> print(rust_string('a "b" \u00f6'))
    "a \"b\" \u{f6}"
    """
    plain = {sign: sign for sign in map(chr, range(32, 127))} | {'"': r"\"", "\\": r"\\"}
    # Half of a surrogate pair, which JSON can say, is no character.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    shown = "".join(plain.get(sign, "\\u{" + format(ord(sign), "x") + "}") for sign in whole)
    return f'"{shown}"'


def _place(contents: Contents, file: str) -> str:
    return "LICENSE" if file == "tcuq_LICENSE.txt" else f"csrc/{file}"


def _files(contents: Contents) -> dict[str, str]:
    crate, compiled = crate_of(contents), (*contents.sources, f"{contents.name}_rust_layout.c")
    build = render(
        "rust/build.rs",
        contents,
        slash_banner=banner("// {}"),
        crate=crate,
        source_count=len(compiled),
        sources_lines=lines([f'"{file}",' for file in compiled]),
        trim_count=len(contents.definitions),
        trim_list=", ".join(f'"{macro}"' for macro in contents.definitions),
    )
    card = render(
        "rust/Cargo.toml",
        contents,
        banner=banner("# {}"),
        crate=crate,
        sentence_quoted=json.dumps(contents.sentence),
    )
    return {
        "Cargo.toml": card,
        "build.rs": build,
        "src/lib.rs": _lib(contents),
        "src/frames.rs": render("rust/frames.rs", contents, **_features(contents)),
        "src/sys.rs": sys_module(contents),
        "examples/watch.rs": _watch(contents),
        f"csrc/{contents.name}_rust_layout.c": layout_source(contents),
    }


def _hints(contents: Contents, folder: str) -> list[str]:
    return [
        f"try it: cd {shlex.quote(folder)} && cargo test && cargo run --example watch",
        f'use it: {crate_of(contents)} = {{ path = "..." }} under [dependencies] of your Cargo.toml',
    ]


def _more(contents: Contents) -> dict[str, Any]:
    """Return what the page says of a step."""
    logits, through = contents.logits_scale is not None, contents.projection is not None
    inputs, calls = "", []
    if logits:
        calls.append("let probs = {crate}::softmax(&logits); // [i8; CLASSES]")
    if through:
        inputs = f", and {contents.width} wide features"
        calls.append("let features = {crate}::project(&wide); // [i8; WIDE_FEATURES]")
    elif contents.width:
        inputs = f", and {contents.width} features of zero point {contents.params.feature_zero_point}"
    calls.append(f"let step = monitor.step(&probs{', &features' if contents.width else ''});")
    crate = crate_of(contents)
    return {"crate": crate, "rust_inputs": inputs, "rust_calls": "\n".join(calls).replace("{crate}", crate)}


RUST = Form(
    name="rust",
    header="csrc/tcuq.h",
    manifest="Cargo.toml",
    files=_files,
    more=_more,
    hints=_hints,
    use=_USE,
    together=two_folders("Depend on both crates: the linker takes the core from the first."),
    rows={
        "Cargo.toml, build.rs": "the crate, and how it compiles its C",
        "src/lib.rs": "`Monitor`, `Step` and the self-check, safe to call",
        "src/frames.rs": "steps as frames for a computer, safe to call",
        "src/sys.rs": "the functions and structs of C, private to the crate",
        "csrc/{name}_rust_layout.c": "sizes and offsets of structs, for a test",
        "examples/watch.rs": "an example for a computer, which begins with the self-check",
    },
    place=_place,
    title="{crate}",
    frames="In Rust it is the module `frames`.",
    selfcheck="selfcheck()",
    platform="the crate uses",
    ends=("_rust_layout",),
)
