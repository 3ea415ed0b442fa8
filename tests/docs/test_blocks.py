"""Every code block of the documentation is run, compiled, or marked with the reason why not."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import Page, documentation
from doc_runner import Reader, run_page
from places import ROOT
from setups import Made

pytestmark = pytest.mark.usefixtures("untouched")
PAGES = documentation()

AFTER = {
    ("README.md", False): """
from tcuq.io import read_log
log = read_log("demo/test.npz")
said = {on_inference(*row).partition(" ")[0] for row in zip(log.probs, log.features, log.gauges)}
assert said == {"act:", "ask:", "hold:"}, said
""",
    ("docs/PYTHON.md", True): "assert again.save() == state",
    ("docs/reference/formats.md", False): "assert type(item).__name__ == 'PosteriorsFrame', item",
    ("docs/EXPORT.md", True): "assert np.ptp(features, axis=0).min() > 20  # features that say something",
    ("examples/README.md", False): """
import os
assert os.path.isfile("arduino/tcuq_monitor/library.properties")
""",
    ("docs/RECORD.md", True): """
params = monitor.params  # the page fits others after it
again = tcuq.Monitor(params).run(tcuq.record("model.tflite", data["x"][:20], data["y"][:20]))
monitor = tcuq.Monitor(params)
assert [on_frame(frame).risk for frame in data["x"][:20]] == [row["risk"] for row in again]
"""
    if shutil.which("cc")
    else "",
    ("docs/START.md", True): "import os; assert found['seed'] == 1 and os.path.isfile('python/monitor.json')",
}
"""What holds when all blocks of a page have run, beyond that they did, in their Python."""


def tiers() -> list[Any]:
    """Return (page, whether slow blocks run too) for all that have something to run, quick ones first."""
    found = []
    for page in PAGES:
        kinds = {page.slow(block) for block in page.tested}
        if False in kinds:
            found.append(pytest.param(page, False, id=page.name))
        if True in kinds:
            found.append(pytest.param(page, True, id=f"{page.name}-slow", marks=pytest.mark.slow))
    return sorted(found, key=lambda each: bool(each.marks))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("setups"))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_every_block_says_what_happens_to_it(page: Page) -> None:
    assert page.problems == ()


def folder_of(page: Page, folder: Path) -> Path:
    """Return where a reader of a page is: with an example in a copy of its folder, else in an empty one."""
    if not page.name.startswith("examples/"):
        return folder
    left = shutil.ignore_patterns("__pycache__", "made", "package")  # by someone who has tried them
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=left)
    return (folder / page.name).parent


@pytest.mark.parametrize(("page", "slow"), tiers())
def test_blocks_do_as_the_page_says(page: Page, slow: bool, made: Made, tmp_path: Path) -> None:
    folder = folder_of(page, tmp_path)
    if page.name in ("docs/tutorials/keyword_spotter.md", "docs/tutorials/vibration.md"):
        pytest.importorskip("sklearn", reason="the page says how to install scikit-learn")
    with Reader(folder) as reader:
        left_out = run_page(page, reader, lambda names: made.bring(names, folder), slow)
        if (page.name, slow) in AFTER:
            done = reader.python(AFTER[page.name, slow], "afterwards")
            assert done.status == 0, done.printed
    if left_out:
        pytest.skip(f"all but {len(left_out)} blocks ran: {'; '.join(left_out)}")


def test_the_demo_runs_and_keeps_its_promises(made: Made) -> None:
    result = json.loads((made.folder("demo") / "figures.json").read_text())
    assert result["audit"] is True
    assert result["abstained"] <= result["budget"]
    wrong = result["wrong"]
    assert wrong["tcuq"] <= wrong["its confidence"] / 2 and wrong["tcuq"] < wrong["Bayes filter"]
    assert result["faults"] == 5 and result["in_time"] >= 4 and result["false_alarms"] <= 2
    report = (made.folder("demo") / "demo" / "report.html").read_text(encoding="utf-8")
    shown = re.search(r'data-key="verdict">([^<]*)', report)
    assert shown and f"{wrong['tcuq']:.1%}".replace("%", " %") in html.unescape(shown[1]).replace("\xa0", " ")
    lines = result["text"].splitlines()[:-1]  # the last one names the folder
    assert len(lines) <= 17 and max(map(len, lines)) <= 90
    left = {path.name for path in (made.folder("demo") / "demo").iterdir()}
    assert left == {Path(name).name for name in result["files"]}
    assert result["progress"][-1][:2] == [6, 6]
    stored = json.loads((ROOT / "src/tcuq/demo/trainings.json").read_text())
    [same] = [day for day in stored["trainings"] if day["seed"] == stored["middle"]]
    ranked = sorted(day["wrong"]["tcuq"] for day in stored["trainings"])
    assert same["wrong"]["tcuq"] == ranked[len(ranked) // 2], "the upper middle one"
    for name, share in same["wrong"].items():  # training differs in the last digits between machines
        assert wrong[name] == pytest.approx(share, rel=0.15), name


def test_figures_of_the_readme_are_those_of_the_demo(made: Made) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("```text\n")[1].split("```")[0].split()
    printed = json.loads((made.folder("demo") / "figures.json").read_text())["text"].split()[: len(shown)]
    for one, other in zip(shown, printed, strict=True):
        figures = [re.fullmatch(r"[\d.,]+%?", each) for each in (one, other)]
        if one != other and all(figures):  # training differs in the last digits between machines
            low, high = sorted(float(each.rstrip("%,").replace(",", "")) for each in (one, other))
            assert high - low <= max(2.0, 0.1 * high), (one, other)
        else:
            assert one == other


@pytest.mark.parametrize("name", ["no_labels", "vibration"])
def test_the_code_of_a_notebook_is_that_of_its_page(name: str) -> None:
    """`jupytext --to ipynb NAME.md` makes it again; then take out the cells of what was printed."""
    page = ROOT / "docs" / "tutorials" / f"{name}.md"
    cells = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    blocks = re.findall(r"^```python\n(.*?)\n```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert code == blocks and code
