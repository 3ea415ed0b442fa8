"""A tiny site without a fault, and the same with one planted fault a page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STYLE = """
  body { margin: 0; background-color: #fff; color: #222; font: 16px/1.5 sans-serif; }
  a { color: #0645ad; }
  .skip { position: absolute; top: 8px; left: -999px; }
  .skip:focus { left: 8px; }
  .box, pre { overflow-x: auto; }
  td { white-space: nowrap; }
  #menu { display: none; min-height: 30px; }
  nav a { display: inline-block; padding: 8px; }
  @media (max-width: 600px) { #menu { display: block; } nav { display: none; } nav.open { display: block; } }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } a { color: #8ab4f8; } }
"""
SCRIPT = """
  const menu = document.querySelector("#menu"), nav = document.querySelector("nav");
  const show = (open) => { nav.classList.toggle("open", open); menu.setAttribute("aria-expanded", open); };
  menu.addEventListener("click", () => show(!nav.classList.contains("open")));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(false); });
"""
WORDS = "a text that is much longer than the window of a phone is wide, so that its box has to scroll"
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Made page</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><a class="skip" href="#content">Skip to content</a>
<button id="menu" aria-expanded="false" aria-controls="pages">Menu</button>
<nav id="pages" aria-label="Pages"><form action="search.html">
<input type="search" name="q" aria-label="Search">
</form><a href="index.html">Start</a> <a href="search.html">Search</a></nav>
<main id="content" tabindex="-1"><h1>Made page</h1>
<p>Words, and <a href="index.html#part">a part</a> of them.</p>
<h2 id="part">A part</h2>
<div class="box" tabindex="0"><table><tr><th scope="col">Name</th></tr><tr><td>{WORDS}</td></tr></table></div>
<pre tabindex="0">{WORDS}</pre>
<img src="dot.svg" alt="A dot" width="20" height="20">
</main><script>{SCRIPT}</script></body></html>
"""
FIND = """
  const sought = new URLSearchParams(location.search).get("q");
  const found = document.querySelector("#search-results");
  if (sought === "alarm") found.innerHTML = '<ul><li><a href="index.html">Made page</a></li></ul>';
  else if (sought) found.textContent = "Nothing was found.";
"""
RESULTS = f'<div id="search-results"></div><script>{FIND}</script></main>'


class Fault(NamedTuple):
    """What is changed in the page, and what has to be said of it."""

    name: str
    old: str
    new: str
    said: str


END = "</main>"
FAULTS = (
    Fault("wide", END, '<div style="width: 900px">wide</div></main>', "390 light: page is 900 px wide"),
    Fault("spilled", ".box, pre {", ".other {", "leaves its box and does not scroll"),
    Fault("cut", "pre { overflow-x: auto", "pre { overflow-x: hidden", "is cut off and does not scroll"),
    Fault("no-picture", "dot.svg", "none.svg", "resource none.svg: no such file"),
    Fault("lost-picture", "dot.svg", "none.svg", "picture is missing: none.svg"),
    Fault("no-ground", "margin: 0;", "margin: 0; background-image: url(none.png);", "does not load"),
    Fault("logged", END, '<script>console.error("planted")</script></main>', "error on the console: planted"),
    Fault("thrown", END, "<script>null.planted</script></main>", "error in a script: TypeError"),
    Fault("network", END, "<script>new Image().src = 'https://example.org/a.png'</script></main>",
          "asks the network: https://example.org/a.png"),
    Fault("outside", "dot.svg", "../secret.svg", "asks for a file outside of the site"),
    Fault("no-page", "index.html#part", "none.html", "link to none.html: no such file"),
    Fault("no-anchor", "index.html#part", "index.html#none", "link to index.html#none: no such anchor"),
    Fault("rooted", "index.html#part", "/index.html", "begins at the root of the server"),
    Fault("leaves", "index.html#part", "../index.html", "link to ../index.html: leaves the site"),
    Fault("folder", "index.html#part", "./", "link to ./: a folder, expected a file"),
    Fault("skips", "h2 id", 'h4 id', "heading skips a level: h4 after h1"),
    Fault("no-heading", "<h1>Made page</h1>", "<p>Made page</p>", "0 headings h1, expected 1"),
    Fault("small", "<p>Words", '<p style="font-size: 11px">Words', "text of 11.0 px, expected 12"),
    Fault("drawn-small", END, '<svg viewBox="0 0 800 80" width="200" height="20">'
          '<text y="40" font-size="30">a</text></svg></main>', "text of 7.5 px, expected 12"),
    Fault("shrunk", END, '<img src="words.svg" alt="Words" width="300"></main>',
          "390+1280 light+dark: letters of 6.0 px, expected 12: words.svg"),
    Fault("squeezed", "<td>", f'<td style="white-space: normal"><p style="width: 70px">{WORDS}</td><td>',
          "table squeezes sentences"),
    Fault("unseen-focus", "a { color: #0645ad; }", "a { color: #0645ad; } a:focus { outline: none; }",
          "focus cannot be seen"),
    Fault("no-skip", '<a class="skip" href="#content">Skip to content</a>', "", "expected a skip link"),
    Fault("skips-nothing", 'href="#content"', 'href="#pages"', "skip link leads to"),
    Fault("hidden-skip", ".skip:focus { left: 8px; }", "", "skip link cannot be seen"),
    Fault("out-of-sight", END, '<a href="index.html" style="position: absolute; left: -999px">far</a></main>',
          'Tab goes where nothing is seen: a "far"'),
    Fault("trap", SCRIPT, SCRIPT + "menu.addEventListener('blur', () => setTimeout(() => menu.focus()));"
          "document.querySelector('[type=search]').addEventListener('keydown', (e) => e.preventDefault());",
          "Tab never reaches"),
    Fault("no-menu", '<button id="menu" aria-expanded="false" aria-controls="pages">Menu</button>',
          '<div id="menu">Menu</div>', "390: menu cannot be reached with Tab"),
    Fault("stuck-menu", 'event.key === "Escape"', "false", "390: menu does not close with Escape"),
    Fault("shut-menu", "show(!nav", "show(false && nav", "390: menu does not open with Enter or Space"),
    Fault("no-key", END, '<label for="hidden">Fold</label><input type="checkbox" id="hidden" hidden></main>',
          'works with a pointer alone: label "Fold"'),
    Fault("no-search", '<input type="search" name="q" aria-label="Search">', "",
          "1280: Tab never reaches the search"),
    Fault("no-alt", ' alt="A dot"', "", "axe image-alt"),
    Fault("no-language", ' lang="en"', "", "axe html-has-lang"),
    Fault("faint", "<p>Words", '<p style="color: #999; background: #fff">Words',
          "390+1280 light: axe color-contrast"),
    Fault("faint-in-dark", "color: #eee;", "color: #444;", "dark: axe color-contrast"),
    Fault("tiny-target", END, '<button style="all: unset; width: 9px; height: 9px">x</button>'
          '<button style="all: unset; width: 9px; height: 9px">y</button></main>', "axe target-size"),
    Fault("no-keys", '<pre tabindex="0">', '<pre>', "axe scrollable-region-focusable"),
)  # fmt: skip


def write_site(folder: Path, faults: tuple[Fault, ...] = ()) -> Path:
    """Write the site; each fault gets a page of its own, named after it."""
    folder.mkdir()
    folder.with_name("secret.svg").write_text("<svg/>")
    square = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><path d="M0 0h2v2H0z"/></svg>'
    (folder / "dot.svg").write_text(square)
    words = square.replace("0 0 2 2", "0 0 800 80").replace("</svg>", '<text font-size="16">a</text></svg>')
    (folder / "words.svg").write_text(words)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "search.html").write_text(PAGE.replace("</main>", RESULTS), encoding="utf-8")
    for fault in faults:
        assert fault.old in PAGE, fault.name
        text = PAGE.replace(fault.old, fault.new, 1)
        (folder / f"{fault.name}.html").write_text(text, encoding="utf-8")
    return folder
