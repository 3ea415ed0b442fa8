"""The frozen side of the monitor: two one-sided sums around the clean mean of the risk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..base.checks import Filled, integer, number, put
from ..base.errors import InputTypeError, wrong_value
from ..base.fixed import ONE, snap
from .codec import part_from, row_range, snapped

if TYPE_CHECKING:
    from .params import Params


@dataclass(frozen=True)
class AlarmSide:
    """One side of the alarm: a one-sided sum of evidence.

    Parameters
    ----------
    allowance : float
        How far risk may stay from its clean mean without adding evidence, in [0, 1].
    limit : float
        Evidence (risk x steps) at which the alarm is raised, up to 16384.
    cap : float, optional
        Evidence stops growing here, which bounds the time to clear. Default: the limit.
    clear : float, default 0.0
        Evidence, below the limit, at which a raised alarm is cleared and starts again at 0. Of the rise side
        alone.
    """

    allowance: float
    limit: float
    cap: Filled[float] = Filled()
    clear: float = 0.0

    def __post_init__(self) -> None:
        most = row_range("rise_cap")[1]
        limit = snapped("alarm limit", self.limit, 1, most, ONE)
        cap = limit if self.cap is None else snap(number("alarm cap", self.cap, self.limit, most / ONE), ONE)
        clear = snapped("alarm clear", self.clear, 0, most, ONE)
        if clear >= limit:
            raise wrong_value("alarm clear", self.clear, f"below the limit, {limit:g}")
        put(self, allowance=snapped("alarm allowance", self.allowance, 0, ONE, ONE))
        put(self, limit=limit, cap=max(limit, cap), clear=clear)


@dataclass(frozen=True)
class Alarm:
    """The frozen side of the monitor: clean mean of the risk and the two sums around it.

    Parameters
    ----------
    mean : float, default 0.0
        Mean risk on clean development data.
    rise, fall : AlarmSide, optional
        Watch for risk above, below its clean mean; None, the default, switches a side off.
    least_raised : int, default 0
        Steps that a raised rise side stays raised at the least, up to 63.

    Examples
    --------
    >>> alarm = Alarm(mean=0.1, rise=AlarmSide(allowance=0.02, limit=5.0))
    >>> round(alarm.rise.limit, 3), alarm.fall is None
    (5.0, True)
    """

    mean: float = 0.0
    rise: AlarmSide | None = None
    fall: AlarmSide | None = None
    least_raised: int = 0

    def __post_init__(self) -> None:
        for name, side in (("rise", self.rise), ("fall", self.fall)):
            if side is not None and not isinstance(side, AlarmSide):
                raise InputTypeError("value", f"alarm {name} is {side!r}; an AlarmSide or None is needed")
        if self.fall is not None and self.fall.clear:
            raise wrong_value("clear of alarm fall", self.fall.clear, "0: rise alone has it")
        put(self, mean=snapped("alarm mean", self.mean, 0, ONE, ONE))
        put(self, least_raised=integer("alarm least_raised", self.least_raised, *row_range("least_raised")))

    def to_dict(self) -> dict[str, Any]:
        """Return the `alarm` object of a parameter file."""
        content = asdict(self)
        if self.fall is not None:
            del content["fall"]["clear"]
        return content

    def integers(self) -> dict[str, int]:
        """Return the alarm fields of the core's `tcuq_params_t`."""
        fields = {
            "least_raised": self.least_raised,
            "rise_clear": 0 if self.rise is None else round(self.rise.clear * ONE),
        }
        for name, side, sign in (("rise", self.rise, 1), ("fall", self.fall, -1)):
            reference = 0 if side is None else round((self.mean + sign * side.allowance) * ONE)
            least, most = row_range(f"{name}_reference")
            fields[f"{name}_reference"] = min(most, max(least, reference))
            fields[f"{name}_limit"] = 0 if side is None else round(side.limit * ONE)
            fields[f"{name}_cap"] = 0 if side is None else round(side.cap * ONE)
        return fields


def alarm_from(content: Any) -> Alarm:
    """Build an alarm from the `alarm` object of a parameter file."""
    if isinstance(content, dict):
        sides = {name: content[name] for name in ("rise", "fall") if name in content}
        content = content | {
            name: part_from(AlarmSide, f"alarm {name}", side) for name, side in sides.items()
        }
    alarm: Alarm | None = part_from(Alarm, "alarm", content)
    if alarm is None:
        raise wrong_value("alarm", None, "an object")
    return alarm


def alarm_words(bits: int, params: Params | None = None) -> str:
    """Return what an alarm of a monitor says; without its parameters, what it may say."""
    rise = "risk has risen"
    if params is None:
        rise = "risk has risen, evidence has added up, or the input has changed"
    elif params.sight is not None:
        rise = "input or outputs are far from the clean log"
    elif params.evidence is not None:
        rise = "evidence of a degradation has added up"
    words = ("quiet", rise, "risk has fallen")
    return words[bits] if bits < 3 else f"{words[1]}, and {words[2]}"
