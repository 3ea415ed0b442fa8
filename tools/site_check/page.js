// Looks at a page as it is laid out now. Each check returns sentences; none means all is well.
(() => {
  const MOST = 4; // places that are named a check
  const PARTS = "table, pre, img, svg, video, canvas, iframe, math, .math, code, p, li, dt, dd, h1, h2, h3, h4, h5, h6";
  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const CONTENT = "main, [role=main]";

  const calm = new CSSStyleSheet();
  calm.replaceSync("*, ::before, ::after { transition: none !important; animation-duration: 0s !important;"
    + " animation-delay: 0s !important; scroll-behavior: auto !important; }");

  const words = (element) => (element.textContent || "").replace(/\s+/g, " ").trim().slice(0, 40);
  const named = (element) => {
    const classes = typeof element.className === "string" ? element.className.trim().split(/\s+/) : [];
    const own = element.localName + (element.id ? `#${element.id}` : classes[0] ? `.${classes[0]}` : "");
    const text = element.getAttribute("aria-label") || words(element) || element.getAttribute("src") || "";
    return text ? `${own} "${text}"` : own;
  };
  const some = (what, found) => {
    if (!found.length) return [];
    const more = found.length > MOST ? ` and ${found.length - MOST} more` : "";
    return [`${what}: ${found.slice(0, MOST).join("; ")}${more}`];
  };
  const shown = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && !element.closest("[inert]");
  };
  const width = () => document.documentElement.clientWidth;
  const inside = (box) => box.left >= -1 && box.right <= width() + 1;
  // Fixed to the window, or there for screen readers alone.
  const aside = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { position, clipPath, clip, overflowX } = getComputedStyle(at);
      if (position === "fixed" || clipPath === "inset(50%)" || /rect\(0px,? 0px/.test(clip)) return true;
      if (position === "absolute" && overflowX !== "visible" && at.offsetWidth <= 1) return true;
    }
    return false;
  };

  // The nearest box that scrolls or cuts what is too wide; null where that is the page.
  const keeper = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      const how = getComputedStyle(at).overflowX;
      if (how !== "visible" && inside(at.getBoundingClientRect())) return [at, how];
    }
    return null;
  };

  const overflow = () => {
    const found = [], whole = document.scrollingElement.scrollWidth;
    const wide = [...document.body.querySelectorAll("*")].filter((element) => {
      const box = element.getBoundingClientRect();
      return box.right > width() + 1 && box.width > 0 && !keeper(element) && !aside(element) && shown(element);
    });
    if (whole > width() + 1) {
      const inner = wide.filter((element) => !wide.some((other) => other !== element && element.contains(other)));
      found.push(...some(`page is ${whole} px wide, the window ${width()} px`, inner.map(named)));
      if (!found.length) found.push(`page is ${whole} px wide, the window ${width()} px`);
    }
    return found;
  };

  const boxes = () => {
    const spilled = [], cut = [];
    for (const element of document.body.querySelectorAll(PARTS)) {
      if (!shown(element) || element.ownerSVGElement || element.closest("[aria-hidden=true]")) continue;
      const box = element.getBoundingClientRect();
      if (!inside(box) && !aside(element)) {
        const kept = keeper(element);
        if (kept === null) spilled.push(element);
        else if (!/auto|scroll/.test(kept[1])) cut.push(element);
      }
    }
    for (const element of document.body.querySelectorAll("pre, td, th, div.highlight")) {
      if (!shown(element) || element.scrollWidth <= element.clientWidth + 1 || !element.clientWidth || aside(element)) continue;
      const style = getComputedStyle(element);
      if (style.overflowX === "visible") spilled.push(element);
      else if (/hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis") cut.push(element);
    }
    const outer = (list) => [...new Set(list)].filter((one) => !list.some((o) => o !== one && o.contains(one)));
    return [
      ...some("leaves its box and does not scroll", outer(spilled).map(named)),
      ...some("is cut off and does not scroll", outer(cut).map(named)),
    ];
  };

  const pictures = () => {
    const missing = [...document.images].filter((one) => one.complete && !one.naturalWidth && shown(one));
    const uses = [...document.querySelectorAll("use")].filter((one) => {
      const target = one.getAttribute("href") || one.getAttribute("xlink:href") || "";
      return target.startsWith("#") && !document.getElementById(target.slice(1));
    });
    return [
      ...some("picture is missing", missing.map((one) => one.getAttribute("src") || named(one))),
      ...some("symbol is missing", uses.map((one) => one.getAttribute("href") || "use")),
    ];
  };

  const headings = () => {
    const found = [], content = document.querySelector(CONTENT);
    const part = content && content.querySelector("h1") ? content : document.body;
    const all = [...part.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading]")].filter(shown);
    const level = (one) => Number(one.getAttribute("aria-level") || one.localName.slice(1) || 2);
    const tops = all.filter((one) => level(one) === 1).length;
    if (tops !== 1) found.push(`${tops} headings h1, expected 1`);
    let before = 0;
    const jumps = [], empty = [];
    for (const one of all) {
      if (level(one) > before + 1) jumps.push(`h${level(one)} after ${before ? `h${before}` : "nothing"}: ${named(one)}`);
      if (!words(one).replace("¶", "").trim()) empty.push(named(one));
      before = level(one);
    }
    return [...found, ...some("heading skips a level", jumps), ...some("heading is empty", empty)];
  };

  // Texts of one color on one ground have one contrast: two of each kind stand for all, or axe takes seconds.
  // Kinds that passed before are left out. The texts are left in chosen, their kinds are returned.
  const chosen = [];
  const chooseTexts = (passed) => {
    const found = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const grounds = new Map();
    const ground = (element) => {
      if (!element) return "";
      if (!grounds.has(element)) {
        const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
        const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
        const solid = /^rgb\(/.test(backgroundColor) && backgroundImage === "none" && opacity === "1";
        grounds.set(element, solid ? own : own + ground(element.parentElement));
      }
      return grounds.get(element);
    };
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (!parent || !walker.currentNode.data.trim() || !shown(parent)) continue;
      const style = getComputedStyle(parent);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
      const link = parent.closest("a[href]");
      const around = link ? `link ${getComputedStyle(link.parentElement).color} ${getComputedStyle(link).textDecorationLine}` : "";
      const kind = [style.color, large, around, ground(parent)].join("|");
      if (!passed.includes(kind)) found.set(kind, [...(found.get(kind) || []), parent].slice(0, 2));
    }
    chosen.splice(0, chosen.length, ...[...found.values()].flat());
    hideBut(chosen);
    return [...found.keys()];
  };

  // axe measures every element that can be seen; the others are hidden meanwhile, each in its place.
  const hidden = [];
  const hideBut = (kept) => {
    const keep = new Set(kept), ways = new Set();
    for (const one of kept) for (let at = one.parentElement; at && !ways.has(at); at = at.parentElement) ways.add(at);
    const visit = (element) => {
      if (keep.has(element)) return;
      if (ways.has(element)) [...element.children].forEach(visit);
      else if (element.style) {
        hidden.push([element, element.style.getPropertyValue("visibility"), element.style.getPropertyPriority("visibility")]);
        element.style.setProperty("visibility", "hidden", "important");
      }
    };
    visit(document.body);
  };
  const unhide = () => {
    for (const [element, value, priority] of hidden.splice(0)) {
      element.style.setProperty("visibility", value, priority);
      if (!element.getAttribute("style")) element.removeAttribute("style");
    }
  };

  const focusable = () => [...(document.querySelector(":modal") || document).querySelectorAll(FOCUSABLE)].filter(
    (one) => one.tabIndex >= 0 && !one.disabled && shown(one) && one.type !== "hidden",
  );

  // What can be seen now and could not be seen when this was last asked; the outermost elements.
  const known = new WeakSet();
  const newly = () => {
    const fresh = [...document.body.querySelectorAll("*")].filter((one) => !known.has(one) && one.checkVisibility({ visibilityProperty: true }));
    fresh.forEach((one) => known.add(one));
    const all = new Set(fresh);
    return fresh.filter((one) => !all.has(one.parentElement));
  };

  // Likewise for what is tapped: what stands in the same kind of box at the same size passes alike.
  const chooseTargets = (passed) => {
    const found = new Map(), rounded = (size) => Math.min(32, Math.round(size));
    for (const element of focusable()) {
      const box = element.getBoundingClientRect(), { display } = getComputedStyle(element);
      const around = [element, element.parentElement, element.parentElement.parentElement];
      const kind = [...around.map((one) => `${one?.localName}.${one?.className}`), display, element.type || "",
        rounded(box.width), rounded(box.height)].join("|");
      if (!passed.includes(kind)) found.set(kind, [...(found.get(kind) || []), element].slice(0, 2));
    }
    chosen.splice(0, chosen.length, ...[...found.values()].flat());
    hideBut(focusable());
    return [...found.keys()];
  };

  // A label of a box that is not drawn, or a place that listens for clicks, which no key reaches.
  const pointerOnly = () => {
    const labels = [...document.querySelectorAll("label[for]")].filter((one) => {
      const box = document.getElementById(one.htmlFor);
      return box && /checkbox|radio/.test(box.type) && !box.checkVisibility();
    });
    const places = [...document.querySelectorAll("[onclick]")].filter((one) => !one.matches(FOCUSABLE));
    return some("works with a pointer alone", [...labels, ...places].filter((one) => one.tabIndex < 0 && shown(one)).map(named));
  };

  const LOOKS = ["outlineStyle", "outlineWidth", "outlineColor", "boxShadow", "borderTopColor", "borderBottomColor",
    "borderTopWidth", "backgroundColor", "textDecorationLine", "opacity", "transform", "clipPath", "left", "top", "fill"];
  const look = (element) => [element, element.parentElement, element.nextElementSibling, element.firstElementChild]
    .map((one) => {
      if (!one) return "";
      const style = getComputedStyle(one);
      return LOOKS.map((name) => style[name]).join("|");
    }).join("||");
  const outlined = (element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0
      && !/rgba\(.*, 0\)|transparent/.test(style.outlineColor);
  };

  // Elements of one kind look alike: a few of each are tried.
  const focus = () => {
    const tried = new Map(), dull = [], before = document.activeElement, [x, y] = [scrollX, scrollY];
    for (const element of focusable()) {
      const kind = `${element.localName}.${element.className} in ${element.parentElement.className}`;
      tried.set(kind, (tried.get(kind) || 0) + 1);
      if (tried.get(kind) > 2) continue;
      document.activeElement.blur();
      const plain = look(element);
      element.focus({ focusVisible: true, preventScroll: true });
      if (document.activeElement === element && !outlined(element) && look(element) === plain) dull.push(element);
    }
    document.activeElement.blur();
    if (before && before !== document.body) before.focus({ preventScroll: true });
    scrollTo(x, y);
    return some("focus cannot be seen", dull.map(named));
  };

  // What readers can unfold has to be right as well.
  const unfold = () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  };

  const settle = async () => {
    document.adoptedStyleSheets = [...new Set([...document.adoptedStyleSheets, calm])];
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => 0)));
    await document.fonts.ready;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  };

  window.siteCheck = {
    settle, unfold, overflow, boxes, pictures, headings, focus, focusable, pointerOnly, chooseTexts, chooseTargets,
    chosen, unhide, newly,
  };
})();
