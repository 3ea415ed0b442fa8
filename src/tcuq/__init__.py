"""tcuq: a label-free monitor for classifiers on microcontrollers and servers.

Names are imported when they are asked for, so that the command starts at once; type checkers read
`__init__.pyi`.
"""

from __future__ import annotations

from ._version import VERSION as __version__

_HOMES = {
    "_core": ("Step",),
    "base.errors": ("InputError",),
    "fitting": ("FitOptions", "fit"),
    "labels.accuracy": ("accuracy_band", "accuracy_from_labels"),
    "labels.sampler": ("LabelSampler",),
    "log.gauges": ("gauge_names", "input_gauges"),
    "log.log": ("Log",),
    "log.logits": ("softmax",),
    "monitor.alarm": ("Alarm", "AlarmSide"),
    "monitor.bank": ("Bank",),
    "monitor.feedback": ("Feedback",),
    "monitor.heads": ("EvidenceHead", "InstantHead", "Sight"),
    "monitor.monitor": ("Monitor",),
    "monitor.params": ("Params",),
    "monitor.signals": ("PROFILES", "SIGNALS"),
    "monitor.steps": ("STEP_DTYPE", "Steps", "moved_name", "reason_names", "step_columns"),
    "recording": ("record",),
    "report": ("plot_steps",),
}
"""The public names, by where they live."""

__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    from importlib import import_module

    if name == "Questions":
        import warnings

        renamed = "tcuq.Questions is now tcuq.LabelSampler; the old name goes with the next release"
        warnings.warn(renamed, DeprecationWarning, stacklevel=2)
        name = "LabelSampler"
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    if not name.startswith("_"):
        try:
            return import_module(f".{name}", __name__)  # a part, such as `tcuq.io`
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
