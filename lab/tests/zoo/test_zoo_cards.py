"""The page of networks: what it shows of cards, and what it counts itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cards
import pytest

torch = pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

from tcuq_lab.zoo.backbones import backbone  # noqa: E402
from tcuq_lab.zoo.recipes import recipe  # noqa: E402
from tcuq_lab.zoo.weights import save_weights  # noqa: E402

TOOL = Path(cards.__file__)


def card(name: str, kind: str, seed: int = 0, **more: Any) -> dict[str, Any]:
    about = {"backbone": "cnn4", "options": {"classes": 10}, "recipe": kind, "settings": {}, **more}
    config = {"name": name, "seed": seed, "dataset": "mnist", "epochs": 3}
    count = {"parameters": 1, "multiply_adds": 2}  # what the code of then counted
    return {**about, "config": config, **count, "dev_accuracy": 0.5, "test_accuracy": 0.25}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cards, "WEIGHTS", tmp_path)
    monkeypatch.setattr(cards, "PAGE", tmp_path / "page.md")
    network = recipe("godin", {}).rebuild(backbone("cnn4"))
    for seed in (10, 2):
        save_weights(tmp_path / f"g-{seed}.npz", network, card("g", "godin", seed))
    return tmp_path


def test_the_page_counts_on_the_network_itself(folder: Path) -> None:
    rows = [line for line in cards.page().splitlines() if line.startswith("| g |")]
    # 16,890 and 1,919,552 of the backbone; its head makes room for a vector a class and for g.
    count = f"{16_890 - 330 + 320 + 33 + 2:,} | {1_919_552 - 320 + 320 + 32:,}"
    assert rows == [f"| g | {seed} | godin | {count} | 3 | 50.00 | 25.00 |" for seed in (2, 10)]
    assert "without stored weights" not in cards.page()


def test_networks_whose_weights_are_not_kept_have_a_table_of_their_own(folder: Path) -> None:
    (folder / "cards").mkdir()
    lone = card("v", "dropout", settings={"rate": 0.2})
    (folder / "cards" / "v-0.json").write_text(json.dumps(lone))
    assert cards.main(["--write"]) == 0
    kept, _, others = (folder / "page.md").read_text().partition("## Networks without stored weights")
    row = "| v | 0 | dropout (rate 0.2) | 16,890 | 1,919,552 | 3 | 50.00 | 25.00 |"
    assert row in others and row not in kept
    assert "| g | 2 |" in kept and "| g | 2 |" not in others


def test_the_page_is_written_only_when_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cards.main([]) == 0 and not (folder / "page.md").exists()
    assert "page.md: new file\nnothing written; --write writes\n" in capsys.readouterr().out
    (folder / "page.md").write_text(cards.page().replace("25.00", "24.00"))
    assert cards.main([]) == 0
    said = capsys.readouterr().out
    assert "2 changed, 0 added, 0 removed" in said and "24.00 | -> | g | 2 |" in said
    assert "24.00" in (folder / "page.md").read_text()
    assert cards.main(["--write"]) == 0 and "24.00" not in (folder / "page.md").read_text()


def test_a_damaged_card_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cards").mkdir()
    (folder / "cards" / "v-0.json").write_text("{")
    assert cards.main(["--write"]) == 2
    err = capsys.readouterr().err
    assert "v-0.json: no card (" in err and err.count("\n") == 1
    assert not (folder / "page.md").exists()


def test_pytorch_is_asked_for_in_one_line(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules['torch'] = None; sys.path.insert(0, {str(TOOL.parent)!r}); import cards; "
    )
    code += "sys.exit(cards.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "x.npz"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: PyTorch is needed to build networks: pip install 'tcuq-lab[zoo]'\n"
