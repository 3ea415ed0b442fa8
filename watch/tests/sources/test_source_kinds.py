"""One table of all sources: the same steps are the same events, and a kill costs and repeats nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from source_kinds import EXPECTED, KINDS, STEPS, columns_of, opened, taken

pytest.importorskip("pyarrow", reason="pyarrow is missing (extra tables)")
pytest.importorskip("serial", reason="pyserial is not installed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX systems")


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_steps_through_every_kind_of_source(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as source:
        arrived = taken(source, STEPS)
        assert columns_of(arrived) == EXPECTED
        assert not source.bad.counts and source.where and source.key
        ends = kind.split()[0] in ("file", "parquet", "folder", "iterable", "pipe")
        assert source.ended == ends


@pytest.mark.parametrize("kind", ["file", "file csv", "file frames", "parquet", "folder"])
def test_a_kill_between_any_two_batches_costs_and_repeats_nothing(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as source:
        whole = taken(source, count=10)
    assert len(whole) >= 4
    for place, one in enumerate(whole):
        # As JSON, since that is how a commit keeps it.
        position = json.loads(json.dumps(one.position))
        with opened(kind, tmp_path) as source:
            again = taken(source, position=position, count=10)
            assert columns_of(whole[: place + 1]) + columns_of(again) == EXPECTED
            assert not source.bad.counts
