from typing import Any

import numpy as np
import numpy.typing as npt

SIGNAL_NAMES: tuple[str, ...]
ERR_SIZE: int
ERR_STATE: int
ERR_VERSION: int
ERR_OTHER: int
ERR_STEP: int

class Step(tuple[Any, ...]):
    """What the monitor says of one inference; `Monitor.step` returns it."""

    prediction: int
    risk: float
    threshold: float
    uncertainty: float
    flagged: bool
    abstain: bool
    alarm: int
    warming_up: bool
    reason: str | None
    low_mass: bool
    signals: tuple[float, ...] | None
    answer: int
    persistence: float
    degradation: float
    expected_accuracy: float | None
    novelty: float
    action: str
    changed: bool
    moved: int
    answer_name: str | None
    prediction_name: str | None

class Core:
    def __new__(cls, fields: dict[str, Any], feature_scale: float = 1.0, /) -> Core: ...
    def step(
        self,
        probs: Any,
        features: Any,
        signals: bool,
        names: tuple[str, ...] | None = None,
        gauges: Any = None,
        /,
    ) -> Step: ...
    def run(self, probs: Any, features: Any, out: Any, signals: Any, gauges: Any = None, /) -> None: ...
    def reset(self) -> None: ...
    def save(self) -> bytes: ...
    def load(self, state: bytes, /) -> int: ...
    def verify(self) -> int: ...
    def feedback(self, step: int, label: int, /) -> int: ...
    def fingerprint(self, version: int = ..., /) -> int: ...
    def sizes(self) -> tuple[int, int, int, int]: ...
    def counters(self) -> tuple[int, int, int, int, int, int]: ...

class Bank:
    def __new__(cls, fields: dict[str, Any], feature_scale: float = 1.0, /) -> Bank: ...
    def run(
        self,
        slots: Any,
        probs: Any,
        features: Any,
        out: Any,
        signals: Any,
        threads: int = 1,
        gauges: Any = None,
        /,
    ) -> None: ...
    def save_many(self, slots: Any, out: Any, /) -> None: ...
    def load_many(self, slots: Any, states: Any, /) -> tuple[int, int] | None: ...
    def reset(self, slots: Any, everything: bool, /) -> None: ...
    def feedback(self, slots: Any, steps: Any, labels: Any, out: Any, /) -> None: ...
    def grow(self, count: int, /) -> int: ...
    def sizes(self) -> tuple[int, int, int]: ...

def quantize_probs(table: npt.NDArray[Any], out: npt.NDArray[np.int8], width: int, /) -> None: ...
def quantize_features(
    table: npt.NDArray[Any], out: npt.NDArray[np.int8], width: int, scale: float, zero_point: int, /
) -> None: ...
def decision_rows(content: bytes, classes: int, horizon: int, /) -> bytes | None: ...
def input_gauges(
    inputs: npt.NDArray[np.int8],
    out: npt.NDArray[np.int16],
    kind: int,
    height: int,
    width: int,
    channels: int,
    /,
) -> int: ...
