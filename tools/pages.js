// What tools/pages.py asks of a page as it is laid out now.
var name = (one) => `${one.localName}.${one.className} "${(one.textContent || "").trim().slice(0, 40)}"`;
var visible = (one) => one.checkVisibility({ visibilityProperty: true });

// Nothing moves, all is unfolded, all pictures are there.
var settle = async () => {
  const calm = new CSSStyleSheet();
  calm.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important; }");
  document.adoptedStyleSheets = [calm];
  for (const one of document.querySelectorAll("details")) one.open = true;
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map((image) => image.decode().catch(() => 0)));
};

var TRAITS = ["outlineStyle", "outlineWidth", "boxShadow", "borderColor", "backgroundColor", "textDecorationLine",
  "opacity", "transform", "clipPath", "left", "top", "fill"];
var drawn = (one) => [one, one.parentElement, one.nextElementSibling, one.firstElementChild].map((each) => {
  const style = each && getComputedStyle(each);
  return each && TRAITS.map((trait) => style[trait]).join();
}).join();

var look = () => {
  const found = [], { scrollWidth, clientWidth } = document.documentElement, tried = new Set();
  if (scrollWidth > clientWidth + 1) {
    const wide = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > clientWidth + 1);
    found.push(`${scrollWidth} px wide, the window ${clientWidth} px: ${wide.slice(-1).map(name)}`);
  }
  for (const one of document.images) {
    if (one.complete && !one.naturalWidth && visible(one)) found.push(`picture is missing: ${one.src}`);
  }
  // Elements of one kind look alike: one of each is tried.
  for (const one of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")) {
    const kind = `${one.localName}.${one.className} in ${one.parentElement.className}`;
    if (tried.has(kind) || one.tabIndex < 0 || one.disabled || !visible(one)) continue;
    tried.add(kind);
    const before = drawn(one);
    one.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement === one && drawn(one) === before) found.push(`focus cannot be seen: ${name(one)}`);
    one.blur();
  }
  return found;
};

var named = () => ({
  links: [...document.querySelectorAll("a[href]")].map((one) => one.href),
  anchors: [...document.querySelectorAll("[id], a[name]")].map((one) => one.id || one.name),
});
