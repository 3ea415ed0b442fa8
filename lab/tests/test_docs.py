"""Pages that are made from result files agree with them."""

from __future__ import annotations

import json

import pytest
from places import LAB, ROOT

from tcuq_lab.experiments.networks import damage_page, table

FOLDER = ROOT / "docs" / "corruptions"


def test_the_page_of_damage_is_made_from_its_files() -> None:
    assert (FOLDER / "README.md").read_text() == damage_page(FOLDER)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_damage_covers_every_kind_and_severity_of_its_suite(path) -> None:
    from tcuq_lab.corruptions import suite

    found = json.loads(path.read_text())
    kinds = suite(found["suite"]).kinds
    assert list(found["kinds"]) == list(kinds)
    for name, each in found["kinds"].items():
        assert len(each["accuracy"]) == len(kinds[name].settings)
        rises = [
            s
            for s, (a, b) in enumerate(zip(each["accuracy"], each["accuracy"][1:], strict=False), 2)
            if b > a
        ]
        assert set(each["exceptions"]) - {1} <= set(rises), name
    damaged = [min(each["accuracy"]) < found["clean"]["accuracy"] for each in found["kinds"].values()]
    assert sum(damaged) >= len(damaged) - 1  # identity


@pytest.mark.slow
def test_the_table_of_networks_is_made_from_their_cards() -> None:
    pytest.importorskip("torch", reason="pip install torch")
    assert (LAB / "weights" / "networks.csv").read_text() == table(LAB / "weights")
