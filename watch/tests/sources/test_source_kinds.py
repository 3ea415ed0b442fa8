"""One table of all sources: the same steps are the same events, and a kill costs and repeats nothing."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from source_kinds import EXPECTED, KINDS, NAME, ROWS, STEPS, columns_of, json_lines, opened, taken

from tcuq_watch.sources.streams import Pipe

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


def test_a_batch_comes_soon_after_its_first_byte() -> None:
    read, write = os.pipe()
    source = Pipe(read, device=NAME)
    waits = []
    for number in range(3):
        threading.Timer(0.3 + 0.4 * number, os.write, (write, json_lines(ROWS[:1]))).start()
    began = time.time()
    for one in source.batches(None, 1000, 0.05):
        if one is not None and one.count:
            waits.append(time.time() - one.batch[0].times[0])
        if len(waits) == 3:
            source.stop()
    assert time.time() - began < 5 and max(waits) < 0.25  # 0.05, and what a busy machine takes
    source.close()
    os.close(read)
    os.close(write)
