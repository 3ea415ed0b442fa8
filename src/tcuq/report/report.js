// The page: what there is to draw, when it is drawn, and what the buttons do.

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
  showWindow(view, overview);
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
  const rows = signalRows(stream.signals);
  // What is told changes at once; only the drawing waits for the next frame.
  const tell = () => tellRange(stream, view, overview, page.inside);
  const view = makeView(stream, () => {
    tell();
    painter.soon();
  });
  const reading = makeReading(stream, view, stage, rows, spoken);
  const painter = makePainter(stream, view, stage, overview, rows, reading.show);
  const page = makePage(stream, view, reading, stage);
  page.nextAlarm = (back) => goToAlarm(stream, view, reading, spoken, back);
  page.read = (px) => {
    reading.step = page.outside(px) ? null : page.inside(page.stepAt(px));
    reading.show();
  };
  page.listen(overview, rows, () => {
    tell();
    painter.afresh();
  });
  // What is folded has no size to draw in.
  for (const each of document.querySelectorAll("details")) each.addEventListener("toggle", painter.afresh);
  find('[data-act="alarm"]').disabled = !stream.onsets.length;
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
