"""Traffic of a simulated fleet: devices play logs; the network loses, delays and repeats what they send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq_watch.engine.events import Events


@dataclass(frozen=True)
class Network:
    """What happens on the way, as shares of events; delays in seconds, of exponential distribution."""

    lost: float = 0.0
    repeated: float = 0.0
    delayed: float = 0.0
    mean_delay: float = 30.0
    reboots: float = 0.0


@dataclass(frozen=True, eq=False)
class Traffic:
    """What arrives, in the order of arrival."""

    events: Events
    rows: npt.NDArray[np.int64]
    degraded: npt.NDArray[np.bool_]


def delivered(
    times: npt.NDArray[np.float64], network: Network, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return which of the events that are sent at these times arrive, in the order of arrival, and when."""
    arrival = times + np.where(
        rng.random(len(times)) < network.delayed, rng.exponential(network.mean_delay, len(times)), 0.0
    )
    kept = np.flatnonzero(rng.random(len(times)) >= network.lost)
    again = kept[rng.random(len(kept)) < network.repeated]
    which = np.concatenate([kept, again])
    when = np.concatenate([arrival[kept], arrival[again] + rng.exponential(network.mean_delay, len(again))])
    order = np.argsort(when, kind="stable")
    return which[order], when[order]


def boots_and_seqs(restarts: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where steps stand, given before which of them (devices, steps) their device starts again."""
    restarts = restarts.copy()
    restarts[:, 0] = False
    steps = np.arange(restarts.shape[1])
    began = np.maximum.accumulate(np.where(restarts, steps, 0), axis=1)
    return np.cumsum(restarts, axis=1).ravel(), (steps - began).ravel()


def traffic(
    clean: npt.NDArray[Any],
    degraded: npt.NDArray[Any] | None = None,
    devices: int = 100,
    steps: int = 100,
    share_degraded: float = 0.0,
    network: Network | None = None,
    seed: int = 0,
    start: float = 1.7e9,
    period: float = 10.0,
) -> Traffic:
    """Return what arrives from devices that each take `steps` inferences."""
    network = Network() if network is None else network
    rng = np.random.default_rng(seed)
    bad = rng.random(devices) < share_degraded if degraded is not None else np.zeros(devices, dtype=bool)
    length = np.where(bad, 0 if degraded is None else len(degraded), len(clean))
    first = rng.integers(0, length)
    device = np.repeat(np.arange(devices), steps)
    step = np.tile(np.arange(steps), devices)
    boots, seqs = boots_and_seqs(rng.random((devices, steps)) < network.reboots)
    rows = (first[device] + step) % length[device]
    times = start + period * step + rng.random(devices)[device]
    which, _ = delivered(times, network, rng)
    probs = clean[rows[which] % len(clean)].copy()
    if degraded is not None:
        wrong = bad[device[which]]
        probs[wrong] = degraded[rows[which][wrong]]
    names = np.array([f"device-{number:06d}" for number in range(devices)], dtype=object)
    events = Events(names[device[which]], boots[which], seqs[which], probs, times=times[which])
    return Traffic(events, rows[which], bad[device[which]])
