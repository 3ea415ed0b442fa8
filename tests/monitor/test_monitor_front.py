"""What a user meets first: a monitor from a file, and classes by name."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from streams import learned_params

from tcuq import Bank, Monitor, Params

PROBS = [[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]]


def test_a_parameter_file_is_enough(tmp_path: Path) -> None:
    params = Params(classes=3, warmup=5)
    path = tmp_path / "params.json"
    params.save(path)
    for given in (path, str(path)):
        assert Monitor(given).params == Bank(given).params == params
        assert Monitor(given).run(PROBS).tolist()[0][:2] == Monitor(params).run(PROBS).tolist()[0][:2]
    with pytest.raises(FileNotFoundError):
        Monitor(tmp_path / "none.json")


def test_a_step_names_its_classes() -> None:
    names = ("cat", "dog", "owl")
    monitor = Monitor(Params(classes=3, names=names))
    for row in PROBS:
        step = monitor.step(row)
        assert (step.answer_name, step.prediction_name) == (names[step.answer], names[step.prediction])
        for again in (pickle.loads(pickle.dumps(step)), copy.copy(step)):
            assert again == step and again.answer_name == step.answer_name
    stays = Monitor(learned_params(names=("a", "b", "c", "d")))
    for _ in range(30):
        stays.step([0.9, 0.1, 0.0, 0.0])
    odd = stays.step([0.45, 0.55, 0.0, 0.0])
    assert (odd.answer_name, odd.prediction_name) == ("a", "b")
    bare = Monitor(Params(classes=3)).step(PROBS[0])
    assert bare.answer_name is None and bare.prediction_name is None
    assert len(bare) == len(step) == 19, "names are beside the tuple"
    with pytest.raises(TypeError):
        Params(classes=3).core().step(b"abc", None, False, ["cat", "dog", "owl"])  # type: ignore[arg-type]
