from typing import Any

import numpy.typing as npt

def order(*arrays: npt.NDArray[Any]) -> None: ...
def tally(
    devices: Any, classes: Any, buckets: Any, seen: Any, clock: Any, slots: Any, times: Any, steps: Any, /
) -> None: ...
