"""A monitor as a package for firmware: its text, and its way to the disk, all files or none."""

from __future__ import annotations

from pathlib import Path

from ..base.checks import known
from ..base.errors import InputError
from ..base.spelling import option
from ..base.texts import text_of
from ..export.folders import prepare, write_folder
from ..export.generated import RUNTIMES
from ..monitor.params import Params
from .contents import Contents, fill
from .csource import source_fields
from .forms import FORMS, Fields, Form
from .projection import IntegerProjection
from .selfcheck import SelfCheck

_PARTS = """\
@name@.h = monitor.h, @name@.c = monitor.c | the parameters of this monitor, real values in comments
@with_names@@name@_names.h = names.h | names of the classes, for those who print them
@name@_selfcheck.h = selfcheck.h, @name@_selfcheck.c = selfcheck.c | \
whether this build gives the right bits; not needed to run
@with_glue@@glue_file@ = glue/glue.h | glue: runs the network in @runtime@ and takes a step
tcuq.h | the monitor's functions and parameters, each one explained
tcuq.c, tcuq_beliefs.c, tcuq_signals.c, tcuq_state.c | the monitor itself
@with_sight@tcuq_sight.c | the alarm that sees the input
@with_feedback@tcuq_feedback.c | what labels that come late change
tcuq_error.c | which parameter is refused, in words; only a program that asks carries it
tcuq_gauges.h, tcuq_gauges.c | gauges of the input; only a program that asks carries them
tcuq_internal.h, tcuq_fields.h, tcuq_tables.h | private to these files
tcuq_frame.h, tcuq_frame.c | steps as frames for a computer; only a program that sends some carries it
@with_logits@tcuq_softmax.h, tcuq_softmax.c | posteriors from int8 logits
@with_wide@tcuq_projection.h, tcuq_projection.c | wide features to those of the monitor
"""
_LICENSE = "tcuq_LICENSE.txt | the license of everything here (MIT)\n"

_DEFAULT = "#define TCUQ_SIGNALS (TCUQ_ALL_SIGNALS | TCUQ_BASELINE)"
"""What tcuq.h compiles in where no flag says otherwise."""

_BESIDE = ("tcuq_frame.", "tcuq_projection.", "tcuq_softmax.", "tcuq_LICENSE.")
"""How files begin that are exported with the core but are no part of it."""


def sources(
    params: Params,
    name: str = "monitor",
    form: str = "c",
    logits_scale: float | None = None,
    projection: IntegerProjection | None = None,
    glue: str | None = None,
) -> dict[str, str]:
    """Return the files of an exported monitor, text by path inside the package.

    Parameters
    ----------
    params : Params
        Of the monitor, from `tcuq.fit` or a file.
    name : str, default "monitor"
        Name of the constant, and of its header and source.
    form : str, default "c"
        "c" for plain C files in one folder, or the platform that the package is for: "arduino",
        "platformio", "zephyr", "espidf", "cmake", "micropython", "rust".
    logits_scale : float, optional
        Carry along a softmax for int8 logits of this scale.
    projection : IntegerProjection, optional
        Carry along a projection of wide features.
    glue : str, optional
        Carry along a header that runs network and monitor in this runtime, as `--glue` names it.

    Examples
    --------
    >>> [file for file in sorted(sources(Params(classes=10))) if file.startswith("mon")]
    ['monitor.c', 'monitor.h', 'monitor_selfcheck.c', 'monitor_selfcheck.h']
    >>> sorted(sources(Params(classes=10), form="arduino"))[:3]
    ['README.md', 'examples/SendFrames/SendFrames.ino', 'examples/Watch/Watch.ino']
    """
    known("form", form, FORMS)
    if glue is not None:
        known("glue", glue, RUNTIMES)
        if form in ("micropython", "rust"):
            raise InputError("conflict", f"form {form} takes no glue, which is C or C++; choose another form")
    contents = Contents(params, name, logits_scale, projection, glue)
    FORMS[form].check_name(name)
    return arranged(contents, SelfCheck(contents), FORMS[form])


def arranged(contents: Contents, check: SelfCheck, form: Form) -> dict[str, str]:
    """Return the files of a monitor with its self-check, as one form has them."""
    given = {**contents.fields, **source_fields(contents), **check.fields, **_glue(contents)}
    own, table = form.fields(contents), ""
    texts: dict[str, str] = {}
    for rows, added in ((_PARTS, False), (form.rows, True), (_LICENSE, False)):
        for row in fill(rows, contents.fields).splitlines():
            names, what = row.split(" | ")
            files = {}
            for name, _, template in (each.partition(" = ") for each in names.split(", ")):
                if added:
                    files[name] = contents.text(template or f"{form.name}/{name}", **own)
                elif template:
                    files[form.place(name)] = contents.text(template, **given)
                else:
                    folder = "export/c" if name.startswith(_BESIDE) else "core"
                    files[form.place(name)] = text_of(f"{folder}/{name}")
            texts |= files
            table += f"| {', '.join(f'`{file}`' for file in files)} | {what} |\n"
    # Left out by default; on some platforms nobody can set a flag for a library.
    parts = [part for part in ("feedback", "sight") if getattr(contents.params, part) is not None]
    header, flags = form.place("tcuq.h"), "".join(f" | TCUQ_{part.upper()}" for part in parts)
    texts[header] = texts[header].replace(_DEFAULT, f"{_DEFAULT[:-1]}{flags})")
    own |= {
        "use": contents.text(f"{form.name}/README.md", **own),
        "rows": table,
        "ram": f"{contents.fields['ram']:,}",
        "state": f"{contents.params.state_bytes:,}",
        "constants": f"{contents.constant_bytes:,}",
        "check": f"{check.table_bytes:,}",
        "saves": check.saves,
        "about": check.about,
        "alarms": check.alarms,
    }
    return texts | {"README.md": contents.text("README.md", **own)}


def _glue(contents: Contents) -> Fields:
    """Return what the header holds that runs the network in its runtime and takes a step."""
    if contents.glue is None:
        return {}
    softmax = contents.logits_scale
    fields = {
        "output_scale": f"{softmax or 1 / 256!r}f",
        "output_zero": -128 if softmax is None else 0,
        "feature_scale": f"{contents.params.feature_scale!r}f",
        "posteriors": "outputs" if softmax is None else "posteriors",
        "floats": contents.glue in ("edge-impulse", "executorch", "emlearn"),
    }
    return fields | {"run": contents.text(f"glue/{contents.glue}.h", **fields)}


def export(
    params: Params,
    folder: str | Path,
    name: str = "monitor",
    force: bool = False,
    form: str = "c",
    logits_scale: float | None = None,
    projection: IntegerProjection | None = None,
    glue: str | None = None,
) -> list[Path]:
    """Write a monitor as a package for firmware, all files or none.

    Also a process that is killed leaves all new files or all old ones; the next export into the same folder
    removes what it left beside it. Files of other names in the folder stay.

    Parameters
    ----------
    params : Params
        Of the monitor, from `tcuq.fit` or a file.
    folder : path
        Made when it does not exist; the folder around it must.
    force : bool, default False
        Replace files that are there already. A package of another form is never replaced: what it has and
        the new one has not would stay, and a compiler may take the old header.
    name, form, logits_scale, projection, glue
        As of `sources`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = export(Params(classes=10), Path(folder) / "firmware", name="door")
    >>> [file.name for file in files if file.name.startswith("door")]
    ['door.c', 'door.h', 'door_selfcheck.c', 'door_selfcheck.h']
    """
    return put(sources(params, name, form, logits_scale, projection, glue), folder, force, FORMS[form])


def put(
    texts: dict[str, str], folder: str | Path, force: bool = False, form: Form | None = None
) -> list[Path]:
    """Write the files of a package, all of them or none."""
    target = prepare(folder)
    if form is not None:
        refuse_other_form(target, form)
    _refuse_other_kinds(texts, target)
    present = sorted(file for file in texts if (target / file).exists())
    if present and not force:
        way = f"choose another folder, or replace it with {option('force', True)}"
        raise InputError("exists", f"{target / present[0]}: exists; {way}")
    write_folder(target, texts)
    return sorted(target / file for file in texts)


def refuse_other_form(folder: Path, form: Form) -> None:
    """Refuse a folder that holds the monitor as a package for another platform.

    Parameters
    ----------
    folder : Path
        Where a package shall be written.
    form : Form
        One of `FORMS`, by its name.
    """
    header = {form: form.place("tcuq.h") for form in FORMS.values()}
    present = [other for other in header if (folder / header[other]).exists()]
    whole = [other for other in present if (folder / other.manifest).exists()]
    for other in (*whole, *present):
        # Beside a package of this form, the manifest of another one is the user's own.
        if header[other] != header[form] or (other in whole and form not in whole):
            raise InputError(
                "exists",
                f"{folder}: holds {header[other]}, as --form {other.name} writes it; for --form {form.name} "
                "choose another folder, or remove this one first",
            )


def _refuse_other_kinds(texts: dict[str, str], target: Path) -> None:
    """Refuse a folder where a file is to be and the other way round: force must not take those away."""
    for file in sorted(texts):
        if (target / file).is_dir():
            raise InputError(
                "exists", f"{target / file}: is a folder, expected a file or nothing; move it away"
            )
        for folder in Path(file).parents:
            if (target / folder).exists() and not (target / folder).is_dir():
                raise InputError(
                    "exists", f"{target / folder}: is a file, expected a folder or nothing; move it away"
                )
