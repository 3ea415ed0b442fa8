"""What goes into an exported package: a monitor, its name, what stands before it; texts with tags to fill."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from textwrap import indent, wrap
from typing import Any

import numpy as np
import numpy.typing as npt

from .._version import VERSION
from ..base.errors import InputError, wrong_value
from ..base.texts import text_of
from ..export.generated import RUNTIMES, plain_text
from ..log.logits import ENTRIES, softmax_table
from ..monitor.cost import cost
from ..monitor.params import Params
from ..monitor.signals import PROFILES, mask
from .projection import IntegerProjection, check_outputs

_FILE = re.compile(r"^(.*)@([\w/]+\.\w+)@\n", re.M)
_CONDITION = re.compile(r"@with(out)?_(\w+)@")
_NAME = re.compile(r"@(\w+)@(\n?)")


def fill(text: str, fields: Mapping[str, Any]) -> str:
    """Return a text with @names@ replaced; lines with None, a false @with_...@ or true @without_...@ go."""
    lines = text.splitlines(keepends=True)
    text = "".join(
        _CONDITION.sub("", line)
        for line in lines
        if all(bool(fields[name]) != bool(out) for out, name in _CONDITION.findall(line))
        and not any(fields[name] is None for name, _ in _NAME.findall(_CONDITION.sub("", line)))
    )

    def value(found: re.Match[str]) -> str:
        shown = str(fields[found[1]])
        return shown if shown.endswith("\n") else shown + found[2]

    return _NAME.sub(value, text)


@cache
def _template(path: str) -> str:
    """Return a template; what stands before the name of another one stands before each of its lines."""
    text = text_of(f"export/templates/{path}.in")
    return _FILE.sub(lambda found: indent(_template(found[2]), found[1], lambda line: True), text)


PARAMS_BYTES, EVIDENCE_BYTES, INSTANT_BYTES, SIGHT_BYTES = 164, 64, 24, 60
FEEDBACK_BYTES, PROJECTION_BYTES = 16, 16
"""`sizeof` tcuq_params_t and so on with 32-bit pointers."""

CORE_SOURCES = ("tcuq.c", "tcuq_beliefs.c", "tcuq_error.c", "tcuq_gauges.c", "tcuq_signals.c", "tcuq_state.c")
CORE_PRIVATE = ("tcuq_internal.h", "tcuq_fields.h", "tcuq_tables.h")
"""Files of the core: what a program compiles, and what only the core reads."""

BASELINE, FEEDBACK, SIGHT = 0x10000, 0x20000, 0x40000
"""`TCUQ_BASELINE`, `TCUQ_FEEDBACK` and `TCUQ_SIGHT`."""


def build_mask(params: Params) -> int:
    """Return the least `TCUQ_SIGNALS` of a build that these parameters run in."""
    signals: int = params.integers()["signals"]
    # A build for the signals of the paper alone sums no evidence; one without `disbelief` learns nothing.
    if params.instant is not None:
        signals |= mask(("disbelief",))
    elif params.evidence is not None and set(params.signals) <= set(PROFILES["paper"]):
        signals |= mask(("odds",))
    if params.evidence is not None and params.evidence.baseline is not None:
        signals |= BASELINE
    if params.feedback is not None:
        signals |= FEEDBACK
    if params.sight is not None:
        signals |= SIGHT
    return signals


@dataclass(frozen=True, eq=False)
class Contents:
    """A monitor to export."""

    params: Params
    name: str = "monitor"
    logits_scale: float | None = None
    projection: IntegerProjection | None = None
    glue: str | None = None

    def __post_init__(self) -> None:
        if self.glue is not None and self.projection is not None:
            raise InputError("conflict", "glue has no projection of wide features; leave one of them out")
        if self.glue == "edge-impulse" and self.params.features:
            way = "fit a log without features (tcuq record --features none)"
            raise InputError("conflict", f"{RUNTIMES[self.glue][0]} gives out no features; {way}")
        check_name(self.name)
        for number, name in enumerate(self.params.names or ()):
            size = len(name.encode("utf-8", "replace"))
            if size > MAX_CLASS_NAME:
                problem = f"name of class {number} is {size} bytes long"
                raise InputError("limit", f"{problem}, expected at most {MAX_CLASS_NAME}")
        if self.logits_scale is not None:
            softmax_table(self.logits_scale)
        if self.projection is not None:
            check_outputs(self.projection.outputs, self.params)

    @cached_property
    def table(self) -> npt.NDArray[np.uint16] | None:
        """Return the table of the softmax, where there is one."""
        return None if self.logits_scale is None else softmax_table(self.logits_scale)

    @property
    def gauges(self) -> tuple[str, ...]:
        """Names of the gauges that a step takes."""
        return () if self.params.sight is None else tuple(self.params.sight.gauges)

    @property
    def _gauges_note(self) -> str:
        """What a step takes, and in which units."""
        head = self.params.sight
        if head is None:
            return ""
        units = ", ".join(
            f"{plain_text(name)}" + f" (in 1/{scale:g})" * (scale != 256)
            for name, scale in zip(head.gauges, head.gauge_scales, strict=True)
        )
        note = f"Gauges of its input that a step takes, in 1/256 of their units: {units}."
        return "\n * ".join(wrap(note, 110, break_long_words=False))

    @property
    def _gauge_means(self) -> list[int]:
        """Usual gauges."""
        head = self.params.sight
        return [] if head is None else [mean // 16 for mean in head.integers()["mean"][: len(head.gauges)]]

    @property
    def wide(self) -> bool:
        """Whether a projection stands before the monitor."""
        return self.projection is not None

    @property
    def width(self) -> int:
        """Features that the network gives."""
        return self.params.features if self.projection is None else self.projection.inputs

    @property
    def shared(self) -> dict[str, list[str]]:
        """Sources that monitors share, by part: the core, and what not every monitor has."""
        parts: dict[str, Any] = {"sight": self.params.sight, "feedback": self.params.feedback}
        parts |= {"softmax": self.table, "projection": self.projection}
        there = [part for part, value in parts.items() if value is not None]
        return {"core": [*CORE_SOURCES, "tcuq_frame.c"], **{part: [f"tcuq_{part}.c"] for part in there}}

    @property
    def sources(self) -> tuple[str, ...]:
        """What a firmware compiles."""
        own = (f"{self.name}.c", f"{self.name}_selfcheck.c")
        return (*own, *(file for files in self.shared.values() for file in files))

    @property
    def flags(self) -> str:
        """What leaves out the code of signals which are not used, as flags of a compiler."""
        return f"-DTCUQ_SIGNALS=0x{build_mask(self.params):03X}u"

    @property
    def constant_bytes(self) -> int:
        """Bytes of NAME.c with 32-bit pointers."""
        params, through = self.params, self.projection
        size = PARAMS_BYTES + 3 * len(params.lags)
        size += (params.evidence is not None) * (EVIDENCE_BYTES + 2 * params.classes)
        size += (params.instant is not None) * INSTANT_BYTES + (params.feedback is not None) * FEEDBACK_BYTES
        if params.sight is not None:
            numbers = len(params.sight.means)
            size += SIGHT_BYTES + (7 + params.classes) * numbers + 2 * len(params.sight.matrix)
        size += (params.centers is not None) * params.classes * params.features
        size += (self.table is not None) * 2 * ENTRIES
        if through is not None:
            size += PROJECTION_BYTES + through.matrix.size + 5 * through.outputs
        return size

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Everything about this monitor that a text may name."""
        params, scale, wide = self.params, self.logits_scale, self.wide
        softmax = "scale 1/256, zero point -128"
        units = f"(scale {params.feature_scale:g}, zero point {params.feature_zero_point})"
        given = f"{self.width} wide features" if wide else f"{self.width} int8 features {units}"
        runtime, runtime_header = RUNTIMES.get(self.glue or "", ("", ""))
        fields: dict[str, Any] = {
            "name": self.name,
            "NAME": self.name.upper(),
            "lower": self.name.lower(),
            "banner": f"Generated by tcuq {VERSION} export; "
            "change the parameters and export again instead of editing.",
            "version": VERSION,
            "semver": semver_of(VERSION),
            "release": release_of(VERSION),
            "shape": f"{params.classes} classes" + f" and {params.features} features" * bool(params.features),
            "units": units,
            "given": given,
            "sentence": f"Watches a classifier of {params.classes} classes without labels: "
            "accept, abstain, alarm.",
            "signals": ", ".join(params.signals),
            "classes": params.classes,
            "features": params.features,
            "zero": params.feature_zero_point,
            "width": self.width,
            "horizon": params.horizon,
            "wide_": "wide_" if wide else "",
            "WIDE": "WIDE_" if wide else "",
            "Features": "Wide features" if wide else "Features",
            "features_or_null": "features" if params.features else "NULL",
            "and_features": ", features" if params.features else "",
            "scale": f"{scale or 0:g}",
            "outputs": "posteriors" if scale is None else "logits",
            "stepped": "posteriors" if scale is None else "probs",
            "outputs_text": f"Posteriors as an int8 softmax leaves them: {softmax}."
            if scale is None
            else f"Logits as int8, scale {scale:g}.",
            "inputs": f"`posteriors` as int8 ({softmax}, as an int8 softmax leaves them)"
            if scale is None
            else f"`logits` as int8 (scale {scale:g})",
            "rest": 64 // max(1, params.classes - 1) - 128 if scale is None else 0,
            "glue": self.glue,
            "glue_file": f"{self.name}_{self.glue}.h".replace("-", "_"),
            "runtime": runtime,
            "runtime_header": runtime_header,
            "ring": params.ring_bytes,
            "state": params.state_bytes,
            "ram": cost(params).ram_bytes,
            "mask": self.flags.partition("=")[2],
            "definition": self.flags.removeprefix("-D"),
            "flags": self.flags,
            "sources": " ".join(self.sources),
            "logits": scale,
            "wide": wide,
            "gauges": len(self.gauges) or None,
            "gauge_names": ", ".join(plain_text(name) for name in self.gauges),
            "gauges_note": self._gauges_note,
            "gauge_means": ", ".join(str(mean) for mean in self._gauge_means),
            "gauges_parameter": ", const int16_t *gauges" if self.gauges else "",
            "call": "tcuq_step_gauges" if self.gauges else "tcuq_step",
            "and_gauges": ", gauges" if self.gauges else "",
            "and_own_gauges": f", {self.name}_gauges" if self.gauges else "",
            "slow": params.evidence or params.sight,
            **{part: getattr(params, part) for part in ("names", "evidence", "sight", "feedback")},
        }
        if self.width:
            fields["inputs"] += f" and {given}" + " (`wide`)" * wide
        return fields

    def text(self, file: str, **more: Any) -> str:
        """Return a file of the templates with the values of this monitor."""
        return fill(_template(file), {**self.fields, **more})


MAX_CLASS_NAME = 255
"""Bytes of a class name in UTF-8; C99 promises strings of 4095 after escapes of four characters a byte."""


MAX_NAME = 31
"""C99 promises that this many characters of an external name count."""

ENDINGS = ("_selfcheck", "_softmax", "_projection", "_arduino", "_names")
"""What the names of a monitor's own files, functions and tables end in."""

# Words that mean something to a C or C++ compiler.
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
decltype default delete do double dynamic_cast else enum explicit export extern false final float for
friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator or
or_eq override private protected public register reinterpret_cast requires restrict return short signed
sizeof static static_assert static_cast std struct switch template this thread_local throw true try typedef
typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
main linux unix i386 mips sparc sun
"""

# math.h; each also ends in f and in l, for the other floating types.
_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh
tgamma trunc gamma drem significand scalb exp10 pow10 sincos j0 j1 jn y0 y1 yn finite isinf isnan
"""

# Other functions and objects of math.h, ctype.h, stdlib.h, string.h and stdio.h, those of POSIX included;
# compilers know many of them without a header.
_LIBRARY = """
fpclassify isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal isunordered signbit
signgam isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
isxdigit toascii tolower toupper
a64l abort abs aligned_alloc arc4random at_quick_exit atexit atof atoi atol atoll bsearch calloc div drand48
ecvt erand48 exit fcvt free gcvt getenv getsubopt grantpt initstate jrand48 l64a labs lcong48 ldiv llabs
lldiv lrand48 malloc mblen mbstowcs mbtowc mkdtemp mkstemp mktemp mrand48 nrand48 posix_memalign posix_openpt
ptsname putenv qsort quick_exit rand rand_r random realloc reallocarray realpath seed48 setenv setstate srand
srand48 srandom strtod strtof strtol strtold strtoll strtoul strtoull system unlockpt unsetenv valloc
wcstombs wctomb
bcmp bcopy bzero ffs index memccpy memchr memcmp memcpy memmem memmove mempcpy memrchr memset rindex stpcpy
stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strerror_r strlcat strlcpy
strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr
strtok strtok_r strxfrm
asprintf clearerr ctermid dprintf fclose fdopen feof ferror fflush fgetc fgetpos fgets fileno flockfile
fmemopen fopen fprintf fputc fputs fread freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile
funlockfile fwrite getc getc_unlocked getchar getchar_unlocked getdelim getline gets open_memstream pclose
perror popen printf putc putc_unlocked putchar putchar_unlocked puts remove rename renameat rewind scanf
setbuf setvbuf snprintf sprintf sscanf stderr stdin stdout tempnam tmpfile tmpnam ungetc vasprintf vdprintf
vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
clock errno offsetof read signal time write environ stdint stddef stdio string stdlib math ctype
"""

TAKEN = frozenset(
    _WORDS.split() + _LIBRARY.split() + [name + end for name in _MATH.split() for end in ("", "f", "l")]
)


def check_name(name: str) -> str:
    """Return a name that can stand in C and C++ and clashes with nothing in the core; refuse others.

    Parameters
    ----------
    name : str
        As C would spell it: letters, digits and _, no digit first.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > MAX_NAME:
        raise wrong_value("name", name, f"a letter, then letters, digits and _, at most {MAX_NAME} in all")
    problem = ""
    if name in TAKEN or name.lower() == "main" or name.endswith("_t"):
        problem = "a word that C or C++ uses already; choose another one"
    elif name.endswith(ENDINGS):
        problem = f"but {', '.join(ENDINGS)} end the names of its own files; choose another"
    elif name == name.upper():
        problem = "but capitals are for macros; use lower case"
    elif name.lower().startswith("tcuq"):  # file systems and macros do not tell Tcuq from tcuq
        problem = "but names that begin with tcuq belong to the core; choose another one"
    if problem:
        raise InputError("value", f"name is {name!r}, {problem}")
    return name


def release_of(version: str) -> str:
    """Return the three numbers of a version, for manifests that take nothing else."""
    return semver_of(version).partition("-")[0]


def semver_of(version: str) -> str:
    """Return a version as semantic versioning writes it: 1.4.0rc1 is 1.4.0-rc.1."""
    release, *before = re.findall(r"^[\d.]*\d|[a-z]+|\d+", version)
    numbers = [*release.split("."), "0", "0"][:3]
    return ".".join(numbers) + ("-" + ".".join(before) if before else "")
