"""Draw who writes and who reads what: model, log, parameters, monitors, device, live page, fleet.

python tools/pictures/architecture.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pictures.drawing import Drawing, forms, write
from pictures.style import SMALL

TITLE = "How the parts of tcuq hang together"
ALT = (
    "At your desk, once: tcuq record turns your model and labeled data into a log, and tcuq fit turns the"
    " log into parameters. tcuq run gives the log and the parameters to the Python monitor, which writes "
    "decisions, and tcuq report makes a page of them. tcuq export writes the parameters and the core as a"
    " C package. On the device, after every inference, your firmware hands softmax and features to the "
    "monitor, which returns answer, accept or abstain, and alarm. While devices run they send their steps"
    " to tcuq live, a page for one device, or to tcuq fleet, for many; both read the parameters. Answers "
    "that you mark as wrong become labels of a new log. All of these monitors run the same C core."
)
WORDS = (
    "model", "log", "fit", "parameters", "python monitor", "c package", "device", "live page", "fleet",
    "record", "export", "report", "core", "softmax", "features", "answer", "abstain", "alarm",
)  # fmt: skip


def draw() -> Drawing:
    """Return the drawing."""
    d = Drawing(640, TITLE, ALT)
    core = "risk"
    left, middle, right, wide = 30, 292, 550, 170

    d.text(left, 34, "At your desk, once", role="ink bold")
    model = d.box(left, 50, wide, 72, "Your model", ["TFLite, ONNX, ...", "and labeled data"])
    log = d.box(middle, 50, wide, 72, "Log", ["softmax, features,", "labels"])
    params = d.box(right, 50, wide, 72, "Parameters", ["`params.json`"])
    d.arrow([model.right(), log.left()])
    d.text(246, 78, "tcuq record", size=13.1, role="ink mono", anchor="middle")
    d.arrow([log.right(), params.left()])
    d.text(506, 78, "tcuq fit", size=SMALL, role="ink mono", anchor="middle")

    shown = d.box(left, 190, wide, 72, "Decisions, report", ["`decisions.csv`", "`report.html`"])
    python = d.box(middle, 190, wide, 72, "Python monitor", ["runs the C core"], role=core)
    package = d.box(right, 190, wide, 72, "C package", ["the C core, numbers", "and a self-check"], role=core)
    d.arrow([log.bottom(0.4), python.top(0.4)])
    d.arrow([params.bottom(0.2), (params.bottom(0.2)[0], 156), (python.top(0.8)[0], 156), python.top(0.8)])
    d.text(506, 149, "tcuq run", size=SMALL, role="ink mono", anchor="middle")
    d.arrow([python.left(), shown.right()])
    d.text(246, 218, "writes", size=SMALL, role="muted", anchor="middle")
    d.arrow([params.bottom(0.8), package.top(0.8)])
    d.text(678, 174, "tcuq export", size=SMALL, role="ink mono", anchor="end")

    d.rect(20, 304, 708, 126, "fall tint", 10)
    d.text(40, 328, "On the device, after every inference", role="ink bold")
    firmware = d.box(40, 342, 184, 74, "Your firmware", ["runs the model,", "acts on decisions"])
    d.box(536, 342, 176, 74, "Monitor", ["the C core: integers,", "about 200 bytes"], role=core)
    d.arrow([package.bottom(), (package.bottom()[0], 342)])
    d.text(626, 290, "build, flash", size=SMALL, role="muted", anchor="end")
    d.arrow([(224, 366), (536, 366)])
    d.text(380, 358, "softmax, features", size=SMALL, role="ink", anchor="middle")
    d.arrow([(536, 392), (224, 392)])
    d.text(380, 410, "answer, accept or abstain, alarm", size=SMALL, role="ink", anchor="middle")

    d.rect(20, 484, 708, 124, "shift tint", 10)
    d.text(250, 508, "On a computer, while devices run", role="ink bold")
    live = d.box(40, 522, 300, 74, "Live page", ["`tcuq live`", "one device, step by step"], role=core)
    fleet = d.box(
        390, 522, 322, 74, "Fleet", ["`tcuq fleet`", "many devices: which are in trouble"], role=core
    )
    down = firmware.bottom(0.4)[0]
    d.arrow([firmware.bottom(0.4), (down, live.y)])
    across, at = firmware.bottom(0.7)[0], fleet.top(0.8)[0]
    d.arrow([firmware.bottom(0.7), (across, 458), (at, 458), (at, fleet.y)])
    d.text(186, 450, "steps over serial, TCP, MQTT", size=SMALL, role="ink")

    d.arrow([params.right(), (746, params.right()[1]), (746, 546), (728, 546)])
    up = log.bottom(0.15)[0]
    d.arrow([live.left(), (10, live.left()[1]), (10, 156), (up, 156), (up, log.y + log.high)])
    d.text(24, 149, "wrong answers that you marked", size=SMALL, role="ink")
    d.rect(250, 619, 14, 11, "risk tint", 3)
    d.text(270, 629, "blue: runs the same C core, so all of them agree bit for bit", size=SMALL, role="muted")
    return d


def files() -> dict[str, str]:
    """Return the files of the picture."""
    return forms("architecture", draw())


if __name__ == "__main__":
    write(files())
