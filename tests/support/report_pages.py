"""Reading a report: its figures, what it packs for its scripts, and what a browser makes of it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from devtools import chromium


def value(page: str, key: str) -> str:
    found = re.findall(f'data-key="{re.escape(key)}">([^<]*)<', page)
    assert found, key
    return str(found[0]).replace("\u00a0", " ").replace("\u2212", "-")


def packed(page: str) -> dict[str, Any]:
    text = re.search(r'id="tcuq-data">(.*?)</script>', page, re.S)
    assert text
    return dict(json.loads(text[1]))


def unpack(text: str, dtype: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def check_whole(page: str) -> None:
    """What must hold for every page."""
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "http" not in page.replace("<meta http-equiv=", "")
    inside = page.replace(' src="data:image/png;base64,', "")  # a picture that is part of the page
    assert not re.search(r"\b(src|srcset|action)\s*=", inside)
    assert not re.search(r"\bhref\s*=(?!\"[#?])", page), "links stay in the page"
    assert "@import" not in page and not re.search(r"url\((?!#hatch-)", page)
    drawn = re.sub(r"<script.*?</script>|<style>.*?</style>", "", page, flags=re.S)
    assert not re.search(r"\b(nan|inf|none)\b", " ".join(re.findall(r' d="([^"]*)"', drawn)), re.I)
    assert "NaN" not in drawn and ">nan" not in drawn
    assert len(re.findall("<svg", drawn)) == len(re.findall("</svg>", drawn))
    for name in ("div", "section", "table", "figure", "span"):
        assert len(re.findall(f"<{name}[ >]", drawn)) == drawn.count(f"</{name}>"), name


DRIVE = """<script>
const root = document.documentElement, stage = document.querySelector("#stage");
const box = stage.getBoundingClientRect(), seen = [];
const look = () => seen.push([Number(root.dataset.from), Number(root.dataset.to)]);
const at = (x) => ({clientX: box.left + x, clientY: box.top + 80, bubbles: true, cancelable: true});
const pointer = (x) => ({...at(x), pointerId: 1, pointerType: "mouse"});
const mouse = (type, x) => stage.dispatchEvent(new PointerEvent(type, pointer(x)));
const key = (key) => stage.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
look();
stage.dispatchEvent(new WheelEvent("wheel", {...at(500), deltaY: -300})); look();
stage.dispatchEvent(new MouseEvent("dblclick", {bubbles: true})); look();
mouse("pointerdown", 300); mouse("pointermove", 500); mouse("pointerup", 500); look();
key("+"); look();
key("0"); look();
key("n"); look();
document.querySelector('[data-act="reset"]').click(); look();
root.dataset.range = document.querySelector("#range").textContent;
root.dataset.spoken = document.querySelector("#spoken").textContent;
root.dataset.seen = JSON.stringify(seen);
const canvas = document.querySelector("#stage canvas");
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
root.dataset.drawn = pixels.some((v, i) => i % 4 === 3 && v > 0);
</script>"""


def driven(page: str) -> str:
    """The page with the script that drives it, which its policy has to let in."""
    text = DRIVE.removeprefix("<script>").removesuffix("</script>").encode()
    allowed = base64.b64encode(hashlib.sha256(text).digest()).decode()
    page = page.replace("script-src ", f"script-src 'sha256-{allowed}' ", 1)
    return page.replace("</body>", DRIVE + "</body>")


def opened(path: Path) -> str:
    """The start tag of the page after its scripts ran in a browser."""
    browser = chromium()
    tab = browser.tab(viewport={"width": 1200, "height": 1000})
    tab.open(path.as_uri())
    tab.wait("document.readyState === 'complete'")
    found = str(tab.js("document.documentElement.cloneNode(false).outerHTML"))
    browser.close()
    return found.replace("&quot;", '"')
