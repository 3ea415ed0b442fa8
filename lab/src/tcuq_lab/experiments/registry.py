"""All experiments by name: on streams as users have them, those of the paper, on boards, and studies."""

from __future__ import annotations

from . import accuracy, alarms, answers, backbones, boards, questions, studies, trainings
from .paper import PAPER
from .run import Experiment

STREAMS = {each.SPEC.name: each.SPEC for each in (answers, alarms, accuracy, questions)}
MEASURED = {each.SPEC.name: each.SPEC for each in (backbones, boards, trainings)}
STUDIES = {each.name: each for each in studies.STUDIES}
TITLES = {name: each.title for name, each in STREAMS.items()}
EXPERIMENTS: dict[str, Experiment] = {
    **STREAMS,
    **{name: PAPER[name] for name in sorted(PAPER)},
    **MEASURED,
    **STUDIES,
}
ALONE = (*MEASURED, *STUDIES)
"""What `tcuq-lab reproduce all` leaves out: it is run by its name."""
