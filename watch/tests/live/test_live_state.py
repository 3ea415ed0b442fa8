# SPDX-License-Identifier: MIT
"""What the page says of the connection: "live" only while steps come."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tcuq_watch" / "live" / "live.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
@pytest.mark.parametrize(
    ("state", "detail", "shown", "words"),
    [
        ("here", {"steps": 5, "quiet": 2}, "here", "live"),
        ("here", {"steps": 5, "quiet": 61}, "quiet", "no step for 1 min"),
        ("here", {"steps": 5, "quiet": 12.7}, "quiet", "no step for 12 s"),
        ("here", {"steps": 5, "quiet": 3 * 86400}, "quiet", "no step for 3 d"),
        ("here", {"steps": 0, "quiet": 61}, "here", "connected, no step yet"),
        ("here", {"steps": 5, "quiet": 61, "paused": True}, "paused", "paused"),
        ("away", {"steps": 5, "quiet": 61}, "away", "connection lost, trying again\u2026"),
    ],
)
def test_the_page_says_how_long_nothing_has_come(state: str, detail: object, shown: str, words: str) -> None:
    head = SOURCE.read_text(encoding="utf-8").partition("function start()")[0]
    script = (
        "const said = {}, document = { documentElement: { dataset: {} } };\n"
        "const put = (at, text) => (said[at] = text);\n"
        f"{head}\ntellState({json.dumps(state)}, null, {json.dumps(detail)});\n"
        "console.log(JSON.stringify([root.dataset.state, said['#state']]));"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [shown, words]
