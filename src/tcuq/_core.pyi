from typing import Any

import numpy as np
import numpy.typing as npt

SIGNAL_NAMES: tuple[str, ...]
FIELDS: tuple[tuple[str, int, int, int], ...]
PARAMS_VERSION: int
STATE_VERSION: int
LAGGED_SIGNALS: int
FEATURE_SIGNALS: int
ERR_SIZE: int
ERR_STATE: int
ERR_VERSION: int
ERR_OTHER: int

class Step(tuple[Any, ...]):
    label: int
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
    severity: float
    expected_accuracy: float | None
    variety: float

class Core:
    def __new__(cls, fields: dict[str, Any], feature_scale: float = 1.0, /) -> Core: ...
    def step(self, probs: Any, features: Any, signals: bool, /) -> Step: ...
    def run(self, probs: Any, features: Any, out: Any, signals: Any, /) -> None: ...
    def reset(self) -> None: ...
    def save(self) -> bytes: ...
    def load(self, state: bytes, /) -> int: ...
    def verify(self) -> int: ...
    def fingerprint(self) -> int: ...
    def sizes(self) -> tuple[int, int, int, int]: ...
    def counters(self) -> tuple[int, int, int, int, int, int, int]: ...

def quantize_probs(table: npt.NDArray[Any], out: npt.NDArray[np.int8], width: int, /) -> None: ...
def quantize_features(
    table: npt.NDArray[Any], out: npt.NDArray[np.int8], width: int, scale: float, zero_point: int, /
) -> None: ...
