"""What the paper claims, and what our figures say of it: one line a claim, made from result files alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .figures import PAPER_RIVALS, SEVERITIES, UNSEEN, WHOLE, Sources
from .words import grid, plain, row_name, task_name

HOLDS, PART, NOT, OPEN = "holds", "holds in part", "does not hold", "cannot be tested here"
OURS = "tcuq_paper"
DELAY = "median delay at equal run lengths, steps"


class Check(NamedTuple):
    """One figure of ours, in words, and whether the claim holds of it; None where it was not measured."""

    words: str
    held: bool | None


class Claim(NamedTuple):
    """What the paper says, our figures, and the experiment that gives them."""

    text: str
    tests: Sequence[Check]
    experiments: str

    @property
    def verdict(self) -> str:
        """Whether it holds of all figures that were measured, of some or of none."""
        held = [test.held for test in self.tests if test.held is not None]
        return OPEN if not held else HOLDS if all(held) else PART if any(held) else NOT


def _best(sources: Sources, experiment: str, task: str, column: str, dwell: float | None) -> Check:
    """Compare the paper's monitor with the best of its rivals; a tie is no win."""
    found = sources.repeat(experiment)
    values = {row: found.get(task, row, column, dwell) for row in PAPER_RIVALS}
    known = {row: value for row, value in values.items() if not math.isnan(value)}
    ours = found.get(task, OURS, column, dwell)
    if math.isnan(ours) or not known:
        return Check("", None)
    top = max(known, key=lambda row: known[row])
    return Check(f"{plain(ours)}, {row_name(top)} {plain(known[top])}", ours > known[top])


def _severities(sources: Sources, experiment: str, task: str) -> Check:
    tests = [_best(sources, experiment, task, f"AUPRC, severity {level}", None) for level in SEVERITIES]
    held = [test.held for test in tests if test.held is not None]
    return Check(f"best at {sum(held)} of {len(held)}", all(held)) if held else Check("", None)


def _apart(
    sources: Sources, experiment: str, task: str, column: str, rows: tuple[str, str], sign: int
) -> Check:
    """Compare two rows: by how much the first is above the second, or below with a sign of -1."""
    found = sources.repeat(experiment)
    first, second = (found.get(task, row, column) for row in rows)
    if math.isnan(first) or math.isnan(second):
        return Check("", None)
    return Check(f"{plain(first)} against {plain(second)}", sign * (first - second) > 0)


def _shorter(sources: Sources, task: str) -> Check:
    found = sources.repeat("headlines")
    delays = [found.get(task, row, DELAY, 16.0) for row in PAPER_RIVALS]
    known, ours = [delay for delay in delays if not math.isnan(delay)], found.get(task, OURS, DELAY, 16.0)
    if not known or math.isnan(ours):
        return Check("", None)
    return Check(f"{plain(ours, 0)} steps, best rival {plain(min(known), 0)}", ours <= 0.75 * min(known))


def _named(tasks: Sequence[str], tests: Iterator[Check]) -> list[Check]:
    pairs = zip(tasks, tests, strict=True)
    return [Check(f"{task_name(task)} {test.words}" if test.words else "", test.held) for task, test in pairs]


def claims(sources: Sources) -> list[Claim]:
    """Return the claims that result files can judge."""
    small, three, f1 = ("mnist", "speech_commands"), ("mnist", "speech_commands", "cifar10"), "macro F1"
    pictures = ("cifar10", WHOLE)
    suffixed = {"cifar10": "", WHOLE: "_tinyimagenet"}
    drop, ablated = UNSEEN, f"drop {UNSEEN}"
    assisted = {"cifar10": "base, assisted", WHOLE: "base, 8 assisting exits"}
    return [
        Claim(
            "best drop AUPRC on MNIST-C and SpeechCmd-C",
            _named(small, (_best(sources, "drop", task, drop, 16.0) for task in small)),
            "drop",
        ),
        Claim(
            "best drop AUPRC at every severity of CIFAR-10-C and TinyImageNet-C",
            _named(pictures, (_severities(sources, f"severity{suffixed[task]}", task) for task in pictures)),
            "severity severity_tinyimagenet",
        ),
        Claim(
            "delay 25 to 35 % shorter than that of the best rival",
            _named(three, (_shorter(sources, task) for task in three)),
            "headlines",
        ),
        Claim(
            "temporal signals add to drop AUPRC (.08 and .09)",
            _named(
                pictures,
                (
                    _apart(
                        sources, f"ablation{suffixed[task]}", task, ablated, (OURS, f"{OURS}_no_temporal"), 1
                    )
                    for task in pictures
                ),
            ),
            "ablation ablation_tinyimagenet",
        ),
        Claim(
            "the conformal layer adds to drop AUPRC",
            _named(
                pictures,
                (
                    _apart(
                        sources, f"ablation{suffixed[task]}", task, ablated, (OURS, f"{OURS}_no_conformal"), 1
                    )
                    for task in pictures
                ),
            ),
            "ablation ablation_tinyimagenet",
        ),
        Claim(
            "temporal assistance lowers NLL (by 5.2 and 19.6 %)",
            _named(
                pictures,
                (
                    _apart(
                        sources,
                        f"assistance{suffixed[task]}",
                        task,
                        "NLL, nats",
                        (assisted[task], "base"),
                        -1,
                    )
                    for task in pictures
                ),
            ),
            "assistance assistance_tinyimagenet",
        ),
        Claim(
            "PostNet has a worse F1 than the plain network",
            _named(
                ("mnist", "cifar10"),
                (
                    _apart(sources, "postnet", task, f1, ("postnet", "base"), -1)
                    for task in ("mnist", "cifar10")
                ),
            ),
            "postnet",
        ),
        Claim(
            "the last exit helps the early-exit ensemble (F1)",
            _named(
                ("cifar10",),
                iter([_apart(sources, "exits", "cifar10", f"{f1}, clean", ("early_exit", "exits_alone"), 1)]),
            ),
            "exits",
        ),
        Claim(
            "full heads help the early-exit ensemble (F1, corrupted)",
            _named(
                ("cifar10",),
                iter(
                    [
                        _apart(
                            sources,
                            "exits",
                            "cifar10",
                            f"{f1}, corrupted",
                            ("early_exit", "early_exit, light heads"),
                            1,
                        )
                    ]
                ),
            ),
            "exits",
        ),
        Claim("best drop AUPRC with ResNet-50, all classes", [], "deeper"),
    ]


def card(sources: Sources) -> str:
    """Return the claims as a table."""
    rows = []
    for claim in claims(sources):
        said = "; ".join(test.words for test in claim.tests if test.words)
        rows.append([claim.text, f"*{claim.verdict}*", said, f"`tcuq-lab reproduce {claim.experiments}`"])
    return grid(["the paper claims", "", "ours", "command"], rows, texts=4)
