"""How methods are compared: drop events, alarm statistics, equal run lengths, paired intervals, a clock."""

from ..detectors.run_lengths import find_limit, run_length
from ..detectors.statistics import STATISTICS
from ..metrics.drops import Band, Truth, clean_band, drop_events, smooth, windowed_accuracy
from .answers import JudgedStream, Scores
from .clock import clock, clock_report
from .paired import delay_interval, interval
from .protocol import (
    ComparisonRules,
    best_against_best,
    delay_part,
    evaluate,
    metric_part,
    same_against_same,
    score_part,
)
from .records import load, mean_over, pick, save

__all__ = [
    "STATISTICS",
    "Band",
    "ComparisonRules",
    "JudgedStream",
    "Scores",
    "Truth",
    "best_against_best",
    "clean_band",
    "clock",
    "clock_report",
    "delay_interval",
    "delay_part",
    "drop_events",
    "evaluate",
    "find_limit",
    "interval",
    "load",
    "mean_over",
    "metric_part",
    "pick",
    "run_length",
    "same_against_same",
    "save",
    "score_part",
    "smooth",
    "windowed_accuracy",
]
