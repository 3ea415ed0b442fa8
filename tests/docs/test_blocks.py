"""Every code block of the documentation is run, compiled, or marked with the reason why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import Page, documentation, parse
from doc_runner import Reader, missing, run_page, setups_of, unprinted
from places import ROOT
from setups import SETUPS, Made

pytestmark = pytest.mark.usefixtures("untouched")
PAGES = documentation()

AFTER = {
    ("README.md", False): """
from tcuq.io import read_log
log = read_log("demo/test.npz")
said = {on_inference(*row).partition(" ")[0] for row in zip(log.probs[:3000], log.features)}
assert said == {"class", "not", "degraded:"}, said
""",
    ("docs/PYTHON.md", True): "assert again.save() == state",
    ("docs/FRAMES.md", False): "assert type(item).__name__ == 'PosteriorsFrame', item",
    ("docs/EXPORT_C.md", True): "assert np.ptp(features, axis=0).min() > 20  # features that say something",
    ("examples/arduino/README.md", False): """
import os
assert os.path.isfile("tcuq_monitor/library.properties")
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
        if page.name.startswith("docs/tutorials/"):
            continue  # test_tutorials.py runs them, and compares what they print
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
    with Reader(folder) as reader:
        left_out = run_page(page, reader, lambda names: made.bring(names, folder), slow)
        if (page.name, slow) in AFTER:
            done = reader.python(AFTER[page.name, slow], "afterwards")
            assert done.status == 0, done.printed
    if left_out:
        pytest.skip(f"all but {len(left_out)} blocks ran: {'; '.join(left_out)}")


def test_pages_name_set_ups_that_exist() -> None:
    marks = [each for page in PAGES for each in (page.marks, *(block.marks for block in page.blocks))]
    named = {name for each in marks for name in setups_of(each)}
    assert named <= set(SETUPS)


def test_a_set_up_that_is_skipped_is_skipped_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(folder: Path) -> None:
        (folder / "half").touch()
        pytest.skip("a package is missing")

    monkeypatch.setitem(SETUPS, "lacking", lacking)
    made = Made(tmp_path)
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="a package is missing"):
            made.bring(["lacking"], tmp_path)
    with pytest.raises(KeyError, match="the set-up is 'none'"):
        made.bring(["none"], tmp_path)


def test_what_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def words(folder: Path) -> None:
        for name in ("one", "two"):
            (folder / name).write_text("new")

    monkeypatch.setitem(SETUPS, "words", words)
    target = tmp_path / "page"
    target.mkdir()
    (target / "one").write_text("old")
    made = Made(tmp_path)
    made.bring(["words"], target)
    assert [(target / name).read_text() for name in ("one", "two")] == ["old", "new"]


# The runner itself.


def ran(text: str, folder: Path, slow: bool = False) -> list[str]:
    """Run a page of one's own."""
    page = parse(text, "page.md")
    assert page.problems == ()
    with Reader(folder) as reader:
        return run_page(page, reader, lambda names: None, slow)


def test_blocks_share_a_folder_a_shell_and_names(tmp_path: Path) -> None:
    text = """
```sh
export WORD=said
mkdir inner && cd inner
```
```python
import os
here = os.getcwd()
```
```python
print(here)
open("left", "w").close()
```
<!-- prints: -->
```text
.../inner
```
```sh
test -f left && echo one && echo "$WORD"; echo three >&2
```
<!-- prints: -->
```text
one
...
three
```
"""
    assert ran(text, tmp_path) == []
    assert (tmp_path / "inner" / "left").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\ntrue\nfalse\ntrue\n```\n", "page.md:1: ended with status 1, expected 0"),
        ("```sh\nexit 3\n```\n", "page.md:1: ended with status 3, expected 0"),
        (
            "```python\nx = 1\n```\n\n```python\n1 / (x - 1)\n```\n",
            "page.md:5: ended with status 1, expected 0",
        ),
        ("<!-- fails: 2 -->\n```sh\ntrue\n```\n", "page.md:2: ended with status 0, expected 2"),
        ("<!-- compiles -->\n```c\nint a = b;\n```\n", "page.md:2: ended with status 1, expected 0"),
        ("```sh\necho a\n```\n<!-- prints: -->\n```text\nb\n```\n", "page.md:5: not printed: 'b'"),
        ("<!-- until: ready -->\n```sh\nfalse\n```\n", "page.md:2: ended with status 1, expected 0"),
    ],
)
def test_a_block_that_does_otherwise_fails(text: str, said: str, tmp_path: Path) -> None:
    if "compiles" in text and missing("gcc"):
        pytest.skip("gcc is missing: install the Debian package gcc")
    with pytest.raises(AssertionError) as error:
        ran(text, tmp_path)
    assert str(error.value).startswith(said)


def test_blocks_are_left_out_as_marked(tmp_path: Path) -> None:
    text = """
<!-- slow -->
```sh
touch slow
```
<!-- not run: needs a board -->
```sh
touch never
```
<!-- needs: no_such_tool -->
```sh
touch tool
```
<!-- until: ready -->
```sh
python -c "
import time
try:
    print('ready', flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    pass"
```
"""
    assert ran(text, tmp_path) == ["page.md:11 needs no_such_tool"]
    assert not list(tmp_path.iterdir())
    ran(text, tmp_path, slow=True)
    assert [path.name for path in tmp_path.iterdir()] == ["slow"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n\n    tcuq demo\n", "page.md:3: is an indented block"),
        ("- a\n\n      tcuq demo\n", "page.md:3: is an indented block"),
        ("- a\n\n    b\n", ""),
        ("- a\n\n  ```sh\n  tcuq demo\n  ```\n", ""),
        ("```\na\n```\n", "page.md:1: has no language"),
        ("```bash\na\n```\n", "page.md:1: the language is bash, expected sh"),
        ("```sh\na\n", "page.md:1: has no end"),
        ("```c\nint a;\n```\n", "page.md:1: is C without a mark"),
        ("```cpp\nint a;\n```\n", "page.md:1: is C++ without a mark"),
        ("<!-- not run: a part -->\n```cpp\nint a;\n```\n", ""),
        ("```rust\nlet a;\n```\n", "page.md:1: is rust, which nothing runs"),
        ("<!-- not run: a part -->\n```yaml\na: b\n```\n", ""),
        ("```json\n{}\n```\n", ""),
        ("<!-- notrun: x -->\n```sh\na\n```\n", "page.md:2: the mark is 'notrun'"),
        ("<!-- not run: -->\n```sh\na\n```\n", "page.md:2: is not run for no reason"),
        ("<!-- not run: x --> <!-- slow -->\n```sh\na\n```\n", "page.md:2: is marked as not run and as"),
        ("<!-- not run: x -->\n\n```sh\na\n```\n", "page.md:1: not run stands before no block"),
        ("<!-- prints: -->\n```text\na\n```\n", "page.md:2: shows what was printed"),
        ("<!-- fails: two -->\n```sh\na\n```\n", "page.md:2: the status is 'two'"),
        ("<!-- compiles -->\n```json\n{}\n```\n", "page.md:2: the language is json"),
        ("<!-- Made by a command. -->\n\n```sh\na\n```\n", ""),
        ("<!-- slow -->\n\n# A\n\n```sh\na\n```\n", ""),
        ("# A\n\n```sh\na\n```\n\n<!-- slow -->\n", "page.md:7: slow stands before no block"),
        ("```{eval-rst}\n.. x::\n\n    y\n```\n", ""),
        ("```{code-block} c\nint a;\n```\n", "page.md:1: is C without a mark"),
        ("````{note}\n```sh\na\n```\n````\n\n```\nb\n```\n", "page.md:7: has no language"),
    ],
)
def test_marks_that_make_no_sense_are_found(text: str, said: str) -> None:
    problems = parse(text, "page.md").problems
    assert len(problems) == bool(said) and all(each.startswith(said) for each in problems), problems


def test_a_block_within_a_list_loses_its_indentation() -> None:
    (block,) = parse("- a\n\n  <!-- slow -->\n  ```sh\n  if a; then\n    b\n  fi\n  ```\n", "p.md").blocks
    assert block.code == "if a; then\n  b\nfi\n" and block.marks == {"slow": ""}


def test_lines_are_printed_in_order_and_whole() -> None:
    assert unprinted("a\nb\n", "a b\na\nb\n") == ""
    assert unprinted("a b ...\n", "a bc\n") == "a b ..."
    assert unprinted("a\n", "ab\n") == "a"


# The demo, which the README quotes.


def test_the_demo_runs_and_keeps_its_promises(made: Made) -> None:
    result = json.loads((made.folder("demo") / "figures.json").read_text())
    assert result["audit"] is True
    assert result["abstained"] <= result["budget"]
    assert abs(result["flagged"] - result["level"]) <= result["flag_bound"]
    assert result["wrong_answers_sure"] < result["wrong_labels_sure"]
    left = {path.name for path in (made.folder("demo") / "demo").iterdir()}
    assert left == {Path(name).name for name in result["files"]}
    assert result["progress"][-1][:2] == [6, 6]
    assert "ABSTAIN" in result["text"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {
        name: f"{value:.1%}".replace("%", " %") for name, value in result.items() if type(value) is float
    }
    corrupted = f"{result['corrupted']:.0%}".replace("%", " %")
    assert f"wrong on {shown['wrong_labels_clean']} of clean images" in readme
    assert f"on {shown['wrong_labels']} of a stream in which {corrupted} are corrupted" in readme
    sure = f"{1 - result['budget']:.0%}".replace("%", " %")
    assert f"wrong on {shown['wrong_answers']}, and on {shown['wrong_answers_sure']} of the {sure}" in readme
    assert f"({shown['wrong_labels_sure']} by confidence alone)" in readme
    alarms = f"{result['shifts_alarmed']} of {result['shifts']} corrupted stretches"
    assert f"{alarms}, after {result['delay_median']:.0f} steps (median)" in readme
    on = f"{result['alarm_on_shifted']:.0%}".replace("%", " %")
    assert f"on for {on} of the corrupted and {shown['alarm_on_clean']} of the clean images" in readme
    assert f"{shown['expected_clean']} on clean images (true: {shown['accuracy_clean']})" in readme
    assert f"{shown['expected_shifted']} on corrupted ones (true: {shown['accuracy_shifted']})" in readme
