// The page: what there is to draw, when it is drawn, and what the buttons do.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);

function signalRows(stream) {
  return stream.signals.map((row) => {
    const part = find('[data-signal="' + row.name + '"]');
    return { row, chart: find(".chart", part), canvas: find("canvas", part), output: find("output", part) };
  });
}

// Draws at the next frame, however often it is asked before.
function makePainter(stream, view, stage, overview, rows, drawn) {
  let ink = palette(), frame = 0, stale = true;
  const painter = {};
  painter.now = () => {
    frame = 0;
    drawTimeline(find("canvas", stage), stream, view, ink);
    rows.forEach((r, k) => drawSignal(r.canvas, r.row, stream, view, k === rows.length - 1, ink));
    if (stale) drawOverview(find("canvas", overview), stream, ink);
    stale = false;
    drawn();
  };
  painter.soon = () => {
    if (!frame) frame = requestAnimationFrame(painter.now);
  };
  painter.afresh = () => {
    ink = palette();
    stale = true;
    painter.soon();
  };
  return painter;
}

// Where the view is, in words and in the strip.
function tellRange(stream, view, overview, inside) {
  const named = (step) => number(stream.number(step));
  const width = overview.clientWidth - GUTTER - RIGHT, pane = find(".window", overview);
  pane.style.left = GUTTER + (view.from / view.steps) * width + "px";
  pane.style.width = Math.max(4, (view.span() / view.steps) * width) + "px";
  const first = inside(view.from), last = inside(Math.ceil(view.to) - 1);
  const seen = number(last - first + 1) + " of " + number(view.steps);
  find("#range").textContent = "Steps " + named(first) + "\u2013" + named(last) + " (" + seen + ")";
  root.dataset.from = first;
  root.dataset.to = last;
}

function goToAlarm(stream, view, reading, spoken, back) {
  const unread = view.span() < view.steps ? view.middle() : back ? view.steps : -1;
  const at = reading.or(unread), half = 0.5 * stream.per;
  const ahead = stream.onsets.filter((t) => (back ? t < Math.floor(at) - half : t > at + half));
  const target = back ? ahead[ahead.length - 1] : ahead.length ? ahead[0] : stream.onsets[0];
  if (target === undefined) {
    spoken.textContent = "No alarm was raised.";
    return;
  }
  const span = Math.min(view.span(), Math.max(view.least, view.steps / 8));
  view.look(target - span / 2, target + span / 2);
  reading.step = target;
  reading.announce();
}

function start() {
  const stream = unpack(JSON.parse(find("#tcuq-data").textContent));
  const stage = find("#stage"), overview = find("#overview"), spoken = find("#spoken");
  const rows = signalRows(stream);
  const inside = (step) => Math.max(0, Math.min(stream.steps - 1, Math.floor(step)));
  // What is told changes at once; only the drawing waits for the next frame.
  const tell = () => tellRange(stream, view, overview, inside);
  const view = makeView(stream, () => {
    tell();
    painter.soon();
  });
  const reading = makeReading(stream, view, stage, rows, spoken);
  const painter = makePainter(stream, view, stage, overview, rows, reading.show);
  const page = { stream, stage, view, reading, inside, scrolled: -1e9 };
  page.room = () => Math.max(1, stage.clientWidth - GUTTER - RIGHT);
  page.stepAt = (px) => view.from + ((px - GUTTER) / page.room()) * view.span();
  page.nextAlarm = (back) => goToAlarm(stream, view, reading, spoken, back);
  page.read = (px) => {
    reading.step = px < GUTTER || px > stage.clientWidth - RIGHT ? null : inside(page.stepAt(px));
    reading.show();
  };
  const acts = {
    in: () => view.zoom(0.5, reading.or(view.middle())),
    out: () => view.zoom(2, reading.or(view.middle())),
    left: () => view.pan(-view.span() / 3),
    right: () => view.pan(view.span() / 3),
    alarm: () => page.nextAlarm(false),
    reset: view.whole,
  };
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", acts[button.dataset.act]);
    if (button.dataset.act === "alarm") button.disabled = !stream.onsets.length;
  }
  onKeys(page, acts);
  onPointers(page, [stage, ...rows.map((r) => r.chart)]);
  onStrip(view, overview);
  window.addEventListener("scroll", () => (page.scrolled = performance.now()), { passive: true });
  const afresh = () => {
    tell();
    painter.afresh();
  };
  new ResizeObserver(afresh).observe(stage);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", afresh);
  tell();
  painter.now();
  root.dataset.ready = "1";
}

try {
  start();
} catch (error) {
  // The static figures say the same; show them rather than half a page.
  root.classList.remove("scripted");
  root.dataset.error = String(error);
}
