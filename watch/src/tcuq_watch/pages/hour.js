// The last hour at a glance: expected accuracy with its band, what moved beside what clean data shows, and what was
// decided, all on one axis of time. Where steps came all at once, as from a file, their numbers stand in its place.

const SPANS = [300, 3600, 86400], SHORT = 30, ROOM = 40; // seconds that can be chosen; below that, steps are counted; px beside the chart
const STEPS_OF_TIME = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600];

// What a curve shows of a step: how far a number is off its clean mean, or how degraded the input looks.
function curveOf(stream, about, moved) {
  const place = moved & 127, numbers = about.numbers || [], far = about.far ?? null;
  const named = moved < 254 && about.decided_by === "host" ? numbers[place] : null;
  if (named && named[2] !== null) { // null: a number of the core alone
    const [name, mean, spread] = named, unit = (z) => Number((mean + z * spread).toPrecision(3)).toString();
    const of = (i) => stream.numbers[i * stream.wide + place] / 8;
    return { name, of, past: 8 + place, scale: 1 / 8, low: -2, high: 2, least: -3, most: 3, unit };
  }
  const [name, of] = far === null ? ["risk", (i) => stream.risk[i] / 65536] : ["how degraded the input looks", (i) => stream.degradation[i]];
  if (far === null) return { name, of, past: -1, scale: 1, low: 0, high: 0, least: 0, most: 0.2, unit: (z) => z.toFixed(2) };
  return { name, of, past: 7, scale: 1, low: far - 100, high: far, least: far - 1, most: far + 1, unit: (z) => z.toFixed(1) };
}

// The time that is shown, in as many cells as there are pixels for: means, and counts of each decision.
function hourOf(stream, span, curve, cells) {
  const last = stream.steps - 1, oldest = Math.min(stream.time[0], stream.past.length ? stream.past[0][0] : Infinity);
  const timed = stream.time[last] - oldest >= SHORT, end = timed ? stream.time[last] : stream.steps;
  const from = timed ? Math.max(end - span, Math.min(oldest, end - 60)) : 0;
  const hour = { from, end, timed, cells: [], at: (i) => (timed ? stream.time[i] : i + 0.5) };
  const place = (at) => Math.min(cells - 1, Math.floor(((at - from) / (end - from)) * cells));
  // Many times a second for each of many steps: no lists here.
  function add(at, n, ask, hold, accuracy, low, high, value) {
    if (!(at >= from && at <= end)) return;
    const cell = (hour.cells[place(at)] ||= { n: 0, ask: 0, hold: 0, sums: [0, 0, 0, 0] }), { sums } = cell;
    cell.n += n;
    cell.ask += ask;
    cell.hold += hold;
    sums[0] += n * accuracy;
    sums[1] += n * low;
    sums[2] += n * high;
    sums[3] += n * value;
  }
  const told = (mean) => (mean === null ? NaN : mean);
  for (const part of timed ? stream.past : []) {
    const [time, n, ask, hold, accuracy, low, high] = part;
    if (time + PART <= stream.time[0]) add(time + PART / 2, n, ask, hold, told(accuracy) / 255, told(low), told(high), curve.past < 0 ? NaN : told(part[curve.past]) * curve.scale);
  }
  let first = 0;
  while (timed && first + 4096 < last && stream.time[first + 4096] < from) first += 4096;
  for (let i = first; i <= last; i++) {
    const flags = stream.flags[i], hold = flags & HELD ? 1 : 0;
    add(hour.at(i), 1, flags & BIT.ask && !hold ? 1 : 0, hold, stream.accuracy[i] / 255, stream.low[i], stream.high[i], curve.of(i));
  }
  // A device that is usually quiet for longer than a cell has not gone in between, nor between two parts of the past.
  const pause = Math.max(QUIET, PAUSES / (stream.rate() || 1)), wide = (end - from) / cells, newest = stream.time[0];
  const near = (k) => (timed ? Math.ceil((from + k * wide < newest ? Math.max(PART, pause) : pause) / wide) : cells);
  for (let k = 1, seen = -Infinity; k < cells; k++) {
    if (hour.cells[k - 1] && !hour.cells[k - 1].filled) seen = k - 1;
    if (!hour.cells[k] && k - seen <= near(k)) hour.cells[k] = { ...hour.cells[seen], filled: true };
  }
  return hour;
}

// One chart: a band behind a line, with the ends of what is usual named at the left.
function drawPanel({ pen, hour, x, width }, top, bottom, y, line, low, high, color, ticks, ink) {
  lettered(pen, ink, "right", "middle");
  for (const [value, text] of ticks) {
    segment(pen, GUTTER, Math.round(y(value)) + 0.5, width - ROOM, Math.round(y(value)) + 0.5);
    pen.fillText(text, GUTTER - 8, y(value));
  }
  within(pen, GUTTER, top - 3, width - ROOM - GUTTER, bottom - top + 6, () => {
    pen.fillStyle = pen.strokeStyle = color;
    pen.lineWidth = 2;
    let before = null;
    hour.cells.forEach((cell, k) => {
      const value = line(cell), a = low(cell), b = high(cell);
      pen.globalAlpha = 0.16;
      if (Number.isFinite(a)) pen.fillRect(x(k), y(b), x(k + 1) - x(k), y(a) - y(b));
      pen.globalAlpha = 1;
      if (Number.isFinite(value) && before && k - before[0] === 1) segment(pen, x(before[0] + 0.5), y(before[1]), x(k + 0.5), y(value));
      else if (Number.isFinite(value)) pen.fillRect(x(k), y(value) - 1, Math.max(2, x(k + 1) - x(k)), 2);
      before = Number.isFinite(value) ? [k, value] : null;
    });
  });
}

// The more to be done, the higher: color is never the only difference.
function drawStrip({ pen, hour, x }, top, bottom, ink) {
  for (let k = 0; k < hour.count; k++) {
    const cell = hour.cells[k], a = x(k), wide = x(k + 1) - a, high = bottom - top;
    pen.fillStyle = cell ? ink.act : ink.muted;
    pen.fillRect(a, cell ? top : top + high / 2 - 1, wide, cell ? high : 2);
    const height = !cell ? 0 : cell.hold ? high : cell.ask && Math.max(6, (0.8 * high * cell.ask) / cell.n);
    pen.fillStyle = cell && cell.hold ? ink.hold : ink.ask;
    pen.fillRect(a, bottom - height, wide, height);
  }
  pen.strokeStyle = ink.muted;
  pen.lineWidth = 1;
  pen.strokeRect(GUTTER + 0.5, top + 0.5, x(hour.count) - GUTTER - 1, bottom - top - 1);
}

function drawTime({ pen, hour, width }, top, bottom, stream, ink) {
  const room = width - ROOM - GUTTER, { from, end, timed } = hour, most = Math.max(2, room / 90);
  const step = timed ? STEPS_OF_TIME.find((each) => (end - from) / each <= most) || 43200 : Math.max(1, niceStep((end - from) / most));
  const zone = timed ? new Date(end * 1000).getTimezoneOffset() * 60 : 0;
  lettered(pen, ink, "center", "top");
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= end; t += step) {
    const at = GUTTER + ((t - from) / (end - from)) * room;
    const text = timed ? clock(t).slice(0, step < 60 ? 8 : 5) : "step " + number(stream.number(t));
    segment(pen, at, top, at, bottom + 4);
    pen.fillText(text, Math.min(at, width - ROOM + 4), bottom + 7);
  }
}

// Draws it all; returns what is where.
function drawHour(canvas, stream, about, span, moved, before, ink) {
  const { pen, width, height } = surface(canvas), wide = width - ROOM - GUTTER;
  const curve = curveOf(stream, about, moved === null ? 255 : moved), count = Math.max(20, Math.min(300, Math.floor(wide / 2)));
  const hour = Object.assign(hourOf(stream, span, curve, count), { count, curve, known: false });
  const x = (k) => Math.round(GUTTER + (k / count) * wide), chart = { pen, hour, x, width };
  const strip = height - 24, mean = (k) => (cell) => (cell ? cell.sums[k] / cell.n : NaN);
  hour.known = hour.cells.some((cell) => cell && Number.isFinite(cell.sums[0]));
  const middle = moved === null || !hour.known ? strip - 34 : Math.round(strip * 0.5) - 12, top = 8;
  pen.font = "12px " + ink.font;
  drawTime(chart, top, strip, stream, ink);
  const named = (text, at) => {
    lettered(pen, ink, "left", "middle");
    pen.fillStyle = ink.ink;
    pen.fillText(text, GUTTER + 4, at);
  };
  if (hour.known) {
    const y = (value) => middle - value * (middle - top);
    const ticks = [[0, "0 %"], [0.5, "50 %"], [1, "100 %"]];
    drawPanel(chart, top, middle, y, mean(0), mean(1), mean(2), ink.risk, ticks, ink);
    if (before) {
      pen.setLineDash([2, 4]);
      pen.strokeStyle = ink.muted;
      segment(pen, GUTTER, y(before), width - ROOM, y(before));
      pen.setLineDash([]);
      lettered(pen, ink, "left", "middle");
      pen.fillText("before", width - ROOM + 3, y(before));
    }
  }
  if (moved !== null || !hour.known) {
    const from = hour.known ? middle + 34 : top + 16, to = strip - 38;
    const values = hour.cells.map((cell) => (cell ? cell.sums[3] / cell.n : NaN)).filter(Number.isFinite);
    const low = Math.min(curve.least, ...values), high = Math.max(curve.most, ...values);
    const y = (value) => to - ((value - low) / (high - low || 1)) * (to - from), clean = curve.high > curve.low;
    if (clean) {
      pen.fillStyle = ink.muted;
      pen.globalAlpha = 0.22;
      pen.fillRect(GUTTER, y(curve.high), wide, Math.min(to, y(curve.low)) - y(curve.high));
      pen.globalAlpha = 1;
    }
    const ticks = clean ? [curve.low, curve.high].filter((each) => each >= low).map((each) => [each, curve.unit(each)]) : [[low, curve.unit(low)], [high, curve.unit(high)]];
    drawPanel(chart, from, to, y, mean(3), () => NaN, () => NaN, ink.threshold, ticks, ink);
    named(curve.name + (clean ? " (grey: clean)" : ""), from - 10);
  }
  drawStrip(chart, strip - 28, strip, ink);
  return hour;
}
