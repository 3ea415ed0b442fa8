"""Bytes of the core on Cortex-M, and of RAM and saved state for some configurations.

    python tools/sizes.py

Needs gcc-arm-none-eabi and libnewlib-arm-none-eabi for the first table.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tcuq import EvidenceHead, Params
from tcuq.monitor.cost import cost
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import SIGNALS, mask, profile_signals

CORE = Path(__file__).parent.parent / "src" / "tcuq" / "core"
BUILDS = (
    ("standard", mask(profile_signals("standard", 1))),
    ("standard, posterior only", mask(profile_signals("standard", 0))),
    ("paper", mask(profile_signals("paper", 1))),
    ("paper, posterior only", mask(profile_signals("paper", 0))),
    ("every signal", mask(SIGNALS)),
)
CONFIGURATIONS = (
    ("standard", 10, 32),
    ("standard", 10, 0),
    ("paper", 10, 32),
    ("paper", 10, 0),
    ("standard", 35, 64),
    ("paper", 35, 64),
    ("standard", 200, 64),
)


def monitor_sources() -> list[Path]:
    """Return what every firmware carries; errors in words and gauges are linked where they are asked for."""
    return [path for path in sorted(CORE.glob("*.c")) if path.name not in ("tcuq_error.c", "tcuq_gauges.c")]


def code_bytes(cpu: str, signals: int) -> int:
    """Return text and tables of the core at -Os."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["-std=c99", "-Os", "-mthumb", f"-mcpu={cpu}", f"-DTCUQ_SIGNALS={signals}"]
        for source in monitor_sources():
            target = Path(folder) / f"{source.stem}.o"
            subprocess.run(["arm-none-eabi-gcc", *flags, "-c", source, "-o", target], check=True)
        objects = sorted(Path(folder).glob("*.o"))
        sizes = subprocess.run(["arm-none-eabi-size", *objects], check=True, capture_output=True, text=True)
        return sum(int(line.split()[0]) for line in sizes.stdout.splitlines()[1:])


def stock(profile: str, classes: int, features: int) -> Params:
    """Return parameters of a profile, with all that it needs, at values of no meaning."""
    learns = profile == "standard"
    return Params(
        classes=classes,
        features=features,
        signals=profile_signals(profile, features),
        instant=InstantHead({}, 0.0) if learns else None,
        evidence=EvidenceHead({}, [0.0] * classes) if learns else None,
        centers=((0,) * features,) * classes if learns and features else None,
        horizon=128 if learns else 0,
    )


def main() -> int:
    """Print both tables."""
    if shutil.which("arm-none-eabi-gcc") is None:
        print("code sizes need: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi", file=sys.stderr)
    else:
        print(f"{'code and tables at -Os':<28}{'Cortex-M0':>12}{'Cortex-M4':>12}")
        for name, signals in BUILDS:
            m0, m4 = code_bytes("cortex-m0", signals), code_bytes("cortex-m4", signals)
            print(f"{name:<28}{m0:>12,}{m4:>12,}")
        print()
    print(
        f"{'profile':<10}{'classes':>8}{'features':>9}{'RAM':>7}{'state':>7}{'instructions (estimate)':>25}"
    )
    for profile, classes, features in CONFIGURATIONS:
        params = stock(profile, classes, features)
        price = cost(params)
        row = f"{price.ram_bytes:>7,}{price.state_bytes:>7,}{price.instructions:>25,}"
        print(f"{profile:<10}{classes:>8}{features:>9}{row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
