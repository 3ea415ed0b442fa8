"""Act on a classifier's answers only while the monitor trusts them, in MicroPython.

hold: the alarm is on, the stream has become worse. ask: not sure about this answer, or still warming up.
act: use the answer. Prints a line when what to do changes. Needs an interpreter with the module tcuq_monitor:
examples/README.md says how to build one.
"""

from array import array

import tcuq_monitor

CLASSES = 4


def read_model(count, noise):
    """Stand in for your model: posteriors as int8 (scale 1/256, zero point -128), unsure from step 400 on."""
    share = (220 if count < 400 else 90) + (noise >> 28)
    rest = (256 - share) // (CLASSES - 1)
    top = count // 12 % CLASSES
    return array("b", [(share if i == top else rest) - 128 for i in range(CLASSES)])


def main():
    """Check the monitor once, then take one step after every inference."""
    status = tcuq_monitor.selfcheck()
    if status:
        raise RuntimeError(f"self-check failed: {status}")
    monitor = tcuq_monitor.Monitor()
    noise, last = 1, None
    for count in range(600):
        noise = (noise * 1664525 + 1013904223) & 0xFFFFFFFF
        step = monitor.step(read_model(count, noise))
        # The alarm comes first: while it is on, an accepted step is not safe either.
        action = "hold" if step.alarm else "ask" if step.abstain or step.warming_up else "act"
        if action != last:
            print(f"step {count}: {action}")
            last = action


main()
