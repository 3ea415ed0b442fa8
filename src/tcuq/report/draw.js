// Drawing the stream on canvases; GUTTER and RIGHT are the same lengths as in report.css.

const GUTTER = 66;
const RIGHT = 14;
const LANE = 15;
const AXIS = 24;

function surface(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(box.width * scale), height = Math.round(box.height * scale);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  return { pen, width: box.width, height: box.height, scale };
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const ink = {};
  const names = ["ink", "muted", "line", "card", "risk", "threshold", "abstain", "wrong", "rise", "fall", "shift", "act", "ask", "hold"];
  for (const name of names) {
    ink[name] = style.getPropertyValue("--" + name).trim();
  }
  ink.font = style.getPropertyValue("--font").trim();
  return ink;
}

// Rise leans one way and fall the other: color is never the only difference.
const hatches = new Map();

function hatch(pen, color, rising, scale) {
  const key = [color, rising, scale].join();
  if (hatches.has(key)) return hatches.get(key);
  const side = Math.round(8 * scale);
  const tile = document.createElement("canvas");
  tile.width = tile.height = side;
  const brush = tile.getContext("2d");
  brush.globalAlpha = 0.11;
  brush.fillStyle = color;
  brush.fillRect(0, 0, side, side);
  brush.globalAlpha = 0.5;
  brush.strokeStyle = color;
  brush.lineWidth = scale;
  brush.beginPath();
  for (const shift of [-side, 0, side]) {
    brush.moveTo(shift, rising ? side : 0);
    brush.lineTo(shift + side, rising ? 0 : side);
  }
  brush.stroke();
  const pattern = pen.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  hatches.set(key, pattern);
  return pattern;
}

function niceStep(raw) {
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  for (const times of [1, 2, 5, 10]) if (times * power >= raw) return times * power;
  return 10 * power;
}

function scaleX(view, width) {
  const room = width - GUTTER - RIGHT;
  return (step) => GUTTER + ((step - view.from) / (view.to - view.from)) * room;
}

function segment(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function polygon(pen, color, ...points) {
  pen.fillStyle = color;
  pen.beginPath();
  for (const [x, y] of points) pen.lineTo(x, y);
  pen.fill();
}

// How words beside a chart are written, and its thin lines drawn.
function lettered(pen, ink, align, baseline) {
  pen.fillStyle = ink.muted;
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1;
  pen.font = "11.5px " + ink.font;
  pen.textAlign = align;
  pen.textBaseline = baseline;
}

function within(pen, left, top, width, height, draw) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, width, height);
  pen.clip();
  draw();
  pen.restore();
}

// What every chart begins with: a clean canvas, the groups of steps in view, their edges and middles.
function begun(canvas, row, stream, view) {
  const chart = { ...surface(canvas), view, stream, row };
  chart.room = Math.max(1, chart.width - GUTTER - RIGHT);
  chart.x = scaleX(view, chart.width);
  chart.starts = groups(view, row.per, row.cells, chart.room, stream.phase);
  chart.edges = Array.from(chart.starts, (i) => chart.x(Math.min(stream.steps, i * row.per)));
  chart.xs = chart.edges.slice(1).map((edge, g) => (chart.edges[g] + edge) / 2);
  return chart;
}

function flagsOf({ starts, stream }) {
  const flags = new Uint8Array(starts.length - 1);
  for (let g = 0; g < flags.length; g++) for (let i = starts[g]; i < starts[g + 1]; i++) flags[g] |= stream.flags[i];
  return flags;
}

// Calls back with the x range of each run of groups that have a bit.
function eachRun(chart, flags, bit, draw) {
  let open = -1;
  for (let g = 0; g <= flags.length; g++) {
    const on = g < flags.length && flags[g] & bit;
    if (on && open < 0) open = g;
    if (!on && open >= 0) {
      draw(chart.edges[open], chart.edges[g]);
      open = -1;
    }
  }
}

function band(pen, xs, low, high, y) {
  pen.beginPath();
  for (let g = 0; g < xs.length; g++) pen.lineTo(xs[g], y(high[g]));
  for (let g = xs.length - 1; g >= 0; g--) pen.lineTo(xs[g], y(low[g]));
  pen.closePath();
  pen.fill();
  pen.stroke();
}

// The same where each group is a pixel or two wide, as a live picture has it: whole pixels cost a fraction
// of slanted edges.
function columns(pen, edges, low, high, y, scale) {
  const snap = (value) => Math.round(value * scale) / scale;
  pen.globalAlpha *= 1.4; // there is no rim
  for (let g = 0; g + 1 < edges.length; g++) {
    const left = snap(edges[g]), top = snap(y(high[g])), thick = Math.max(1 / scale, snap(y(low[g])) - top);
    if (thick < 1e4) pen.fillRect(left, top, snap(edges[g + 1]) - left, thick);
  }
}

function ranges({ pen, stream, xs, edges, scale }, values, y, alpha, thick) {
  const narrow = xs.length > 1 && xs[1] - xs[0] < 3;
  pen.globalAlpha = alpha;
  pen.lineWidth = thick;
  if (stream.phase === undefined || !narrow) band(pen, xs, values.low, values.high, y);
  else columns(pen, edges, values.low, values.high, y, scale);
  pen.globalAlpha = 1;
}

function polyline({ pen, xs }, values, y, thick) {
  pen.lineWidth = thick;
  // A line through one point would not be seen.
  if (xs.length === 1) return segment(pen, xs[0] - 12, y(values[0]), xs[0] + 12, y(values[0]));
  pen.beginPath();
  for (let g = 0; g < xs.length; g++) pen.lineTo(xs[g], y(values[g]));
  pen.stroke();
}

// `first` is the number of the first step: ticks stand at round numbers, not at round places.
function timeTicks(pen, view, width, y, first, ink) {
  const x = scaleX(view, width);
  const step = Math.max(1, niceStep((view.to - view.from) / Math.max(2, (width - GUTTER) / 110)));
  lettered(pen, ink, "center", "top");
  for (let t = Math.ceil((first + view.from) / step) * step; t < first + view.to; t += step) {
    const at = Math.round(x(t - first)) + 0.5;
    const text = t.toLocaleString("en");
    const half = pen.measureText(text).width / 2;
    segment(pen, at, y, at, y + 4);
    if (at + half <= width) pen.fillText(text, at, y + 7);
  }
}

function drawSignal(canvas, row, stream, view, last, ink) {
  const chart = begun(canvas, row, stream, view), { pen, width, height } = chart;
  const top = 3, bottom = height - (last ? AXIS : 3);
  const y = (value) => bottom - (value / 255) * (bottom - top);
  lettered(pen, ink, "right", "middle");
  for (const [value, text] of [[0, "0"], [255, "1"]]) {
    const at = Math.round(y(value)) + 0.5;
    segment(pen, GUTTER, at, width - RIGHT, at);
    pen.fillText(text, GUTTER - 8, y(value) + (value ? 4 : -4));
  }
  within(pen, GUTTER, 0, chart.room, height, () => {
    const values = extremes(chart.starts, row.low, row.mean, row.high);
    pen.fillStyle = pen.strokeStyle = ink.risk;
    pen.lineJoin = "round";
    ranges(chart, values, y, 0.25, 0.75);
    polyline(chart, values.mean, y, 1.3);
  });
  if (last) (stream.ticks || timeTicks)(pen, view, width, bottom + 2, stream.first, ink);
}

function drawOverview(canvas, stream, ink) {
  const chart = begun(canvas, stream, stream, { from: 0, to: stream.steps }), { pen, height } = chart;
  const values = extremes(chart.starts, stream.riskLow, stream.risk, stream.riskHigh);
  const y = (word) => height - 1 - (word / 65536 / stream.top) * (height - 6);
  const flags = flagsOf(chart);
  for (const [bit, color] of [[BIT.rise, ink.rise], [BIT.fall, ink.fall], [BIT.shifted, ink.shift]]) {
    const rim = bit === BIT.shifted;
    pen.globalAlpha = rim ? 1 : 0.25;
    pen.fillStyle = color;
    eachRun(chart, flags, bit, (a, b) => pen.fillRect(a, 0, Math.max(1, b - a), rim ? 3 : height));
  }
  pen.fillStyle = pen.strokeStyle = ink.risk;
  ranges(chart, values, y, 0.35, 0.5);
  polyline(chart, values.mean, y, 1);
}
