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
  for (const name of ["ink", "muted", "line", "card", "risk", "threshold", "abstain", "wrong", "rise", "fall", "shift"]) {
    ink[name] = style.getPropertyValue("--" + name).trim();
  }
  ink.font = style.getPropertyValue("--font").trim();
  return ink;
}

// Rise leans one way and fall the other: color is never the only difference.
const hatches = new Map();

function hatch(pen, color, rising, scale) {
  const key = [color, rising, scale].join();
  if (!hatches.has(key)) hatches.set(key, makeHatch(pen, color, rising, scale));
  return hatches.get(key);
}

function makeHatch(pen, color, rising, scale) {
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

// Calls back with the x range of each run of groups that have a bit.
function eachRun(flags, bit, starts, per, steps, x, draw) {
  let open = -1;
  const number = flags.length;
  for (let g = 0; g <= number; g++) {
    const on = g < number && flags[g] & bit;
    if (on && open < 0) open = g;
    if (!on && open >= 0) {
      draw(x(starts[open] * per), x(Math.min(steps, starts[g] * per)));
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

function ranges(pen, stream, starts, xs, low, high, y, view, width, scale) {
  const x = scaleX(view, width), narrow = xs.length > 1 && xs[1] - xs[0] < 3;
  if (stream.phase === undefined || !narrow) band(pen, xs, low, high, y);
  else columns(pen, Array.from(starts, (i) => x(Math.min(stream.steps, i * stream.per))), low, high, y, scale);
}

function polyline(pen, xs, values, y) {
  pen.beginPath();
  // A line through one point would not be seen.
  if (xs.length === 1) pen.moveTo(xs[0] - 12, y(values[0]));
  if (xs.length === 1) pen.lineTo(xs[0] + 12, y(values[0]));
  for (let g = 0; g < xs.length; g++) pen.lineTo(xs[g], y(values[g]));
  pen.stroke();
}

function middles(starts, per, steps, x) {
  const xs = new Float64Array(starts.length - 1);
  for (let g = 0; g < xs.length; g++) xs[g] = (x(starts[g] * per) + x(Math.min(steps, starts[g + 1] * per))) / 2;
  return xs;
}

// `first` is the number of the first step: ticks stand at round numbers, not at round places.
function timeTicks(pen, view, width, y, first, ink) {
  const x = scaleX(view, width);
  const step = Math.max(1, niceStep((view.to - view.from) / Math.max(2, (width - GUTTER) / 110)));
  pen.fillStyle = ink.muted;
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (let t = Math.ceil((first + view.from) / step) * step; t < first + view.to; t += step) {
    const at = Math.round(x(t - first)) + 0.5;
    const text = t.toLocaleString("en");
    const half = pen.measureText(text).width / 2;
    pen.beginPath();
    pen.moveTo(at, y);
    pen.lineTo(at, y + 4);
    pen.stroke();
    if (at + half <= width) pen.fillText(text, at, y + 7);
  }
}

function drawSignal(canvas, row, stream, view, last, ink) {
  const { pen, width, height, scale } = surface(canvas);
  const x = scaleX(view, width);
  const room = Math.max(1, width - GUTTER - RIGHT);
  const starts = groups(view, row.per, row.cells, room, stream.phase);
  const xs = middles(starts, row.per, stream.steps, x);
  const top = 3, bottom = height - (last ? AXIS : 3);
  const y = (value) => bottom - (value / 255) * (bottom - top);
  pen.font = "11.5px " + ink.font;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const [value, text] of [[0, "0"], [255, "1"]]) {
    pen.strokeStyle = ink.line;
    pen.beginPath();
    pen.moveTo(GUTTER, Math.round(y(value)) + 0.5);
    pen.lineTo(width - RIGHT, Math.round(y(value)) + 0.5);
    pen.stroke();
    pen.fillStyle = ink.muted;
    pen.fillText(text, GUTTER - 8, y(value) + (value ? 4 : -4));
  }
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, 0, room, height);
  pen.clip();
  const found = extremes(starts, row.low, row.mean, row.high);
  pen.fillStyle = pen.strokeStyle = ink.risk;
  pen.lineJoin = "round";
  pen.lineWidth = 0.75;
  pen.globalAlpha = 0.25;
  ranges(pen, { ...row, steps: stream.steps, phase: stream.phase }, starts, xs, found.low, found.high, y, view, width, scale);
  pen.globalAlpha = 1;
  pen.lineWidth = 1.3;
  polyline(pen, xs, found.mean, y);
  pen.restore();
  if (last) (stream.ticks || timeTicks)(pen, view, width, bottom + 2, stream.first, ink);
}

function drawOverview(canvas, stream, ink) {
  const { pen, width, height, scale } = surface(canvas);
  const view = { from: 0, to: stream.steps };
  const x = scaleX(view, width);
  const starts = groups(view, stream.per, stream.cells, Math.max(1, width - GUTTER - RIGHT), stream.phase);
  const xs = middles(starts, stream.per, stream.steps, x);
  const risk = extremes(starts, stream.riskLow, stream.risk, stream.riskHigh);
  const y = (word) => height - 1 - (word / 65536 / stream.top) * (height - 6);
  const flags = new Uint8Array(xs.length);
  for (let g = 0; g < xs.length; g++) for (let i = starts[g]; i < starts[g + 1]; i++) flags[g] |= stream.flags[i];
  for (const [bit, color] of [[BIT.rise, ink.rise], [BIT.fall, ink.fall], [BIT.shifted, ink.shift]]) {
    const rim = bit === BIT.shifted;
    pen.globalAlpha = rim ? 1 : 0.25;
    pen.fillStyle = color;
    eachRun(flags, bit, starts, stream.per, stream.steps, x, (a, b) => pen.fillRect(a, 0, Math.max(1, b - a), rim ? 3 : height));
  }
  pen.fillStyle = pen.strokeStyle = ink.risk;
  pen.lineWidth = 0.5;
  pen.globalAlpha = 0.35;
  ranges(pen, stream, starts, xs, risk.low, risk.high, y, view, width, scale);
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
  polyline(pen, xs, risk.mean, y);
}
