"""A fit that was kept is taken up again as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import Kept
<<<<<<< HEAD
=======

from tcuq_lab.methods.banks import observed
from tcuq_lab.methods.paper import TcuqPaper, TcuqTs
>>>>>>> origin/main
from tcuq_lab.reproduce.kinds.comparison import joined
from tcuq_lab.reproduce.kinds.fits import fit_once
from tcuq_lab.reproduce.kinds.unit import Unit

from tcuq_lab.methods.gather import observed
from tcuq_lab.methods.paper import TcuqPaper, TcuqTs
from tcuq_lab.reproduce.rows import row_of

UNIT = Unit("cifar10", 16.0, 0)


@pytest.mark.slow
def test_a_fit_that_was_kept_is_the_same_fit(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    bank = kept.banks(UNIT.task, "dev", 0, [row_of("base")], schedule.sources("dev"))["base"]
    dev, seen = joined(schedule.learned(), bank), observed(schedule.clean("test"), bank)
    place = tmp_path / "deep" / "fit.json"
    first, again = TcuqPaper(), TcuqPaper()
    fit_once(first, dev, place)
    fit_once(again, dev, place)
    assert again.params == first.params and again.setting == first.setting
    assert again.held_out == first.held_out
    for one, other in zip(first.answer(seen), again.answer(seen), strict=True):
        np.testing.assert_array_equal(one, other)
    scaled = TcuqTs()  # its temperature is not among the parameters
    fit_once(scaled, dev, tmp_path / "scaled.json")
    assert scaled.temperature != 1 and not (tmp_path / "scaled.json").exists()
    with pytest.raises(ValueError, match="tcuq_paper_ts fits more than parameters; fit is needed"):
        TcuqTs().resume(dev, first.held_out, first.params)
    with pytest.raises(ValueError, match="held_out has 1 entries, expected 8"):
        TcuqPaper().resume(dev, [0.5], first.params)
    whole = place.read_text()
    for damaged in ("{", "[]", whole.replace("tcuq fit 1", "x"), whole.replace("held_out", "h"),
                    whole.replace('"classes": 10', '"classes": 1')):  # fmt: skip
        place.write_text(damaged)
        with pytest.raises(ValueError, match=r"fit\.json is not a fit that was kept: ") as caught:
            fit_once(TcuqPaper(), dev, place)
        assert len(str(caught.value).splitlines()) == 1
