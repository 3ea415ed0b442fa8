"""What Python knows of the core, made from schema.toml by tools/schema.py: change that file, not this one."""

from typing import NamedTuple

PARAMS_VERSION = 5
STATE_VERSION = 4

SIGNALS = {
    "divergence": "the posterior differs from recent ones",
    "instability": "the features point elsewhere than recently",
    "flips": "the prediction differs from recent predictions",
    "doubt": "low confidence or a close second class",
    "odds": "this posterior is not sure of the class",
    "degradation": "recent inputs looked degraded",
    "magnitude": "the features are large",
    "distance": "the features are far from those of the class on clean data",
    "disbelief": "the last steps, as long as classes stay here, speak against the class",
    "drift": "recent features have moved away from those of clean data",
}
"""By number; what a high value means."""

PROFILE_PAPER = ("divergence", "instability", "flips", "doubt")
PROFILE_STANDARD = ("odds", "degradation", "magnitude", "distance", "disbelief", "drift")
LAGGED = ("divergence", "instability", "flips")
FEATURE = ("instability", "magnitude", "distance", "drift")
SLOW = ("degradation", "drift")
WAS = {
    "severity": "degradation",
    "hold": "least_raised",
    "still": "frozen",
    "own": "baseline",
    "look": "novelty",
}
"""Names of version 0.3 and those of today."""

REASONS = {"error_limit": (254, "labels have shown too many errors at such a risk")}
COUNTER_CODES = "IiiIIiIIIIBBB"
"""As `struct` reads them."""

STEP_FIELDS = (
    "threshold",
    "degradation",
    "prediction",
    "answer",
    "risk",
    "uncertainty",
    "persistence",
    "novelty",
    "expected_accuracy",
    "flagged",
    "abstain",
    "alarm",
    "warming_up",
    "reason",
    "low_mass",
    "action",
    "changed",
    "moved",
)
"""What a step of the core says, in the order of tcuq.h."""


class Row(NamedTuple):
    """A parameter: its names in the core and in Python, how many there are, unit, range, a usual one."""

    part: str
    name: str
    real: str
    kind: str
    unit: str
    low: int
    high: int
    usual: int


_TABLE = """
params version - one int 5 5 5
params signals signals one mask 1 1023 0
params fingerprint - one int 0 4294967295 0
params classes classes one int 2 1000 10
params features features one int 0 256 0
params zero_point feature_zero_point one int -128 127 0
params lag_count - one count 0 64 0
params lags lags lag lags 1 64 0
params lag_weights lag_weights lag weights 0 32768 0
params bias bias one q16 -16777216 16777216 -262144
params doubt_mix doubt_mix one q16 0 65536 32768
params blend blend one q16 0 65536 45000
params level_num level one ratio 1 65535 1
params level_den level_den one den 2 1000 10
params reference reference one q16 0 65535 24000
params anchor anchor one confidence|belief 0 65535 0
params about about one prediction|answer 0 65535 0
params horizon horizon one log2 0 12 0
params expected_start expected_start one q16 0 65535 0
params slope slope one slope 0 4294967295 40000
params steep_slope steep_slope one slope 1 4294967295 260000
params knee knee one flags 0 16777216 50
params budget_num budget one ratio 0 65535 3
params budget_den budget_den one den 1 1000 20
params burst burst one int 1 10000 3
params rise_reference - one q16 0 65535 26000
params fall_reference - one q16 0 65535 9000
params least_raised - one int 0 63 0
params warmup warmup one int 0 4294967295 8
params rise_limit - one q16 0 4294967295 60000
params rise_cap - one q16 0 1073741824 150000
params rise_clear - one q16 0 1073741824 0
params fall_limit - one q16 0 4294967295 0
params fall_cap - one q16 0 1073741824 0
params centers centers class_x_feature int -128 127 0
params instant instant part int 0 0 0
params evidence evidence part int 0 0 0
params sight sight part int 0 0 0
params feedback feedback part int 0 0 0
params coef coef signal q9 -32768 32767 0
params clean_mean clean_means signal q16 0 65535 0
evidence offset offsets class q8 -32768 32767 0
evidence clip clip one q16 1 524288 262144
evidence reach reach one int 256 4294967295 4000
evidence frozen frozen one q16 0 2097152 0
evidence bias bias one q16 -16777216 16777216 -9000
evidence allowance allowance one q16 0 16777216 0
evidence baseline_inputs baseline one int 0 1000 0
evidence baseline_mean baseline one q16 -524288 524288 0
evidence baseline_most baseline one q16 0 524288 0
evidence bet_base bet one q16 0 1048576 0
evidence bet_slope bet one q16 0 32767 0
evidence coef coef signal q9 -32768 32767 0
instant bias bias one q16 -16777216 16777216 -196608
instant coef coef signal q9 -32768 32767 0
sight gauges gauges one int 0 16 2
sight reach reach one int 256 4294967295 4000
sight frozen frozen one q16 0 2097152 0
sight baseline_inputs baseline one int 0 1000 0
sight odds_weight odds_weight one q8 0 4096 512
sight clear_weight clear_weight one q4 16 4095 320
sight matrix_shift - one int 0 15 8
sight changed changed one q16 0 4194304 40000
sight accuracy_bias accuracy one q16 -1048576 1048576 0
sight accuracy_odds accuracy one q9 -32768 32767 5678
sight accuracy_far accuracy one q9 -32768 32767 0
sight accuracy_both accuracy one q9 -32768 32767 0
sight mean means number q4 -1048576 1048576 0
sight scale deviations number int 1 1023 0
sight shift deviations number int 0 24 0
sight class_mean class_means class_x_number q4 -128 127 0
sight matrix matrix triangle int -32768 32767 0
feedback memory memory one int 1 1024 3
feedback error_num max_error one ratio 0 65535 1
feedback error_den error_den one den 1 1000 10
feedback error_reference reference one q16 0 65535 65535
feedback error_shut shut one errors 0 32767 25
feedback error_first hard one budget|error 0 65535 0
feedback wrong_score wrong_score one q13 0 65535 8192
feedback right_score right_score one q13 0 65535 8192
"""


def _row(part: str, name: str, real: str, kind: str, unit: str, low: str, high: str, usual: str) -> Row:
    return Row(part, name, real, kind, unit, int(low), int(high), int(usual))


ROWS = [_row(*line.split()) for line in _TABLE.split("\n") if line]
