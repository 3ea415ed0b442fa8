"""The seam between C and Rust: structs and functions of the one as the other declares them."""

from __future__ import annotations

import re
from importlib import resources

from ..contents import Contents
from ..csource import banner
from ..templates import lines, render

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

_FEEDBACK = """\
    pub fn tcuq_feedback(monitor: *mut tcuq_t, ago: u32, label: i32) -> c_int;
"""


def struct_of(header: str, struct: str) -> list[tuple[str, str]]:
    """Return type and name of every field of a struct in a C header; an array has its length in its type.

    Examples
    --------
    >>> struct_of("typedef struct { uint8_t a; /* why */ uint32_t *b; int8_t c[3]; } x_t;", "x_t")
    [('uint8_t', 'a'), ('uint32_t *', 'b'), ('int8_t[3]', 'c')]
    """
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
        extern_feedback=_FEEDBACK if contents.params.feedback is not None else "",
        layout_count=len(rows),
        layout_rust=lines(rows, 12),
    )
