// Search shows lines of the pages it found by loading them, which a browser refuses to pages opened as files.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// What scrolls within its box must be reachable with the keyboard, and only that.
function reachable() {
  const kinds = { table: ".table-wrapper", code: ".highlight pre, pre.literal-block", picture: ".picture" };
  for (const [kind, query] of Object.entries(kinds)) {
    for (const box of document.querySelectorAll(query)) {
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", `${kind}, scrolls sideways`);
      } else if (box.hasAttribute("tabindex")) {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);
