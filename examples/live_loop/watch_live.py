"""Watch a live source in a Python loop: a camera, a microphone, or made pictures.

    python watch_live.py                 # made pictures; a hand covers the lens now and then
    python watch_live.py --camera        # needs OpenCV: pip install opencv-python
    python watch_live.py --microphone    # needs sounddevice: pip install sounddevice

The first inferences, while all is well, fit the monitor: no labels are needed. Then the loop takes one
inference at a time and prints a line when the alarm changes. The "classifier" is two lines: which corner of
the picture is brightest, or which of four bands of the sound is loudest. Put your own model into `classify`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

import tcuq

Floats = npt.NDArray[np.float64]
NAMES = {
    "corners": ("top left", "top right", "bottom left", "bottom right"),
    "bands": ("0-500 Hz", "500-1,500 Hz", "1.5-4 kHz", "4-8 kHz"),
}


class Source:
    """Where inferences come from: four energies a step, and what the four are."""

    names: tuple[str, ...] = ()

    def read(self) -> Floats:
        """Wait for the next picture or block of sound and return its four energies."""
        raise NotImplementedError


def corners(picture: Floats) -> Floats:
    """Return the mean brightness of the four quarters of a gray picture, 0 to 1."""
    rows, columns = (size // 2 for size in picture.shape)
    parts = (np.s_[:rows, :columns], np.s_[:rows, columns:], np.s_[rows:, :columns], np.s_[rows:, columns:])
    return np.array([picture[part].mean() for part in parts]) / 255


class MadePictures(Source):
    """A lamp wanders among the corners; from picture 2,000 on, a hand covers every other 400."""

    names = NAMES["corners"]

    def __init__(self) -> None:
        self._rng, self._step = np.random.default_rng(0), 0

    def read(self) -> Floats:
        """Return the energies of a picture of 16 x 16."""
        covered = self._step >= 1600 and self._step // 400 % 2 == 1
        picture = self._rng.normal(60, 15, (16, 16))
        row, column = divmod(self._step // 25 % 4, 2)
        lamp = 8.0 if covered else self._rng.uniform(40, 120)
        picture[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] += lamp
        self._step += 1
        return corners(picture.clip(0, 255))


class Camera(Source):
    """The first camera that OpenCV finds."""

    names = NAMES["corners"]

    def __init__(self) -> None:
        import cv2

        self._cv2: Any = cv2
        self._capture = cv2.VideoCapture(0)
        if not self._capture.isOpened():
            raise OSError("camera 0 cannot be opened, expected one that no other program uses")

    def read(self) -> Floats:
        """Return the energies of the next picture."""
        got, picture = self._capture.read()
        if not got:
            raise OSError("the camera gives no pictures any more")
        return corners(self._cv2.cvtColor(picture, self._cv2.COLOR_BGR2GRAY).astype(np.float64))


class Microphone(Source):
    """The default microphone, in blocks of a tenth of a second."""

    names = NAMES["bands"]

    def __init__(self) -> None:
        import sounddevice

        try:
            self._stream: Any = sounddevice.InputStream(samplerate=16000, channels=1, blocksize=1600)
            self._stream.start()
        except sounddevice.PortAudioError as error:
            raise OSError(f"the microphone cannot be opened: {error}") from None

    def read(self) -> Floats:
        """Return the share of four bands in the next block, by amplitude."""
        block, _ = self._stream.read(1600)
        spectrum = np.abs(np.fft.rfft(np.asarray(block, dtype=np.float64)[:, 0]))  # 10 Hz a bin
        bands = [
            float(spectrum[low:high].mean()) for low, high in ((1, 50), (50, 150), (150, 400), (400, 800))
        ]
        return np.array(bands) / max(sum(bands), 1e-9)


def classify(energies: Floats) -> Floats:
    """Stand in for your model: the posterior of "this corner is brightest", or "this band is loudest"."""
    exps = np.exp(12.0 * (energies - energies.max()))
    return np.asarray(exps / exps.sum())


def watch(source: Source, monitor: tcuq.Monitor, steps: int, counts: Counter[str]) -> None:
    """Take one inference at a time, print a line when the alarm changes, and count what was done."""
    last = ""
    for t in range(steps):
        step = monitor.step(classify(source.read()))
        action = "hold" if step.alarm else "ask" if step.abstain or step.warming_up else "act"
        counts[action] += 1
        if action != last and "hold" in (action, last):
            word = "ALARM, do not act" if step.alarm else "the alarm has cleared"
            print(f"step {t}: {word} (answer {source.names[step.answer]}, risk {step.risk:.2f})", flush=True)
        last = action


def main(argv: list[str] | None = None) -> int:
    """Fit on the first inferences, then watch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--camera", action="store_const", const=Camera, dest="source")
    kind.add_argument("--microphone", action="store_const", const=Microphone, dest="source")
    parser.add_argument("--fit-steps", type=int, default=1500, help="inferences to fit on (default: 1500)")
    parser.add_argument("--steps", type=int, default=3000, help="inferences to watch (default: 3000)")
    args = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    try:
        source: Source = (args.source or MadePictures)()
        # A camera takes about a minute, a microphone two and a half.
        print(f"fitting on {args.fit_steps} inferences, keep things as they are ...", flush=True)
        clean = np.array([classify(source.read()) for _ in range(args.fit_steps)])
        params = tcuq.fit(tcuq.Log(clean), budget=0.1, run_length=10000)
        print(f"watching {args.steps} inferences, Ctrl-C ends it ...", flush=True)
        watch(source, tcuq.Monitor(params), args.steps, counts)
    except ImportError as error:
        print(f"watch_live: {error}; the docstring says what to install", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"watch_live: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass  # what was counted is printed all the same
    print(", ".join(f"{action} {counts[action]}" for action in ("act", "ask", "hold")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
