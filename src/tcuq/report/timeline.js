// The timeline: risk, threshold, bands of alarm and shift, and the lanes below.

function lanesOf(stream) {
  const lanes = ["flagged", "ask"];
  if (stream.wrong) lanes.push("wrong");
  lanes.push("hold");
  if (stream.shifts) lanes.push("shift");
  return lanes.concat((stream.lanes || []).map((lane) => lane.name));
}

function drawTimeline(canvas, stream, view, ink) {
  const chart = begun(canvas, stream, stream, view), { pen, width, height, scale, x, room, starts, xs } = chart;
  const lanes = lanesOf(stream), axis = stream.axis || AXIS;
  const top = 8, bottom = height - axis - lanes.length * LANE - 6;
  const y = (word) => bottom - (Math.min(word / 65536, stream.top) / stream.top) * (bottom - top);
  const flags = flagsOf(chart);
  drawScale(pen, stream, width, top, bottom, y, ink);

  const run = (bit, draw) => eachRun(chart, flags, bit, draw);
  const paint = (fill, alpha, from, to) => (a, b) => {
    pen.globalAlpha = alpha;
    pen.fillStyle = fill;
    pen.fillRect(a, from, Math.max(1, b - a), to - from);
    pen.globalAlpha = 1;
  };
  // Kinds of shift that follow each other directly stay apart; in the lane each has its name, where it fits.
  const shifts = (alpha, from, to, named) => {
    if (!(stream.stretches || []).length) return run(BIT.shifted, paint(ink.shift, alpha, from, to));
    for (const [first, end, name] of stream.stretches) {
      if (end < view.from || first > view.to) continue;
      const a = x(first), b = x(end), left = Math.max(a, GUTTER) + 4;
      paint(ink.shift, alpha, from, to)(a, b - (b - a > 3 ? 1 : 0));
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillStyle = "#000"; // on amber, by day and by night
      if (named && left + pen.measureText(name).width < b - 4) pen.fillText(name, left, (from + to) / 2 + 0.5);
    }
  };
  const rise = hatch(pen, ink.rise, true, scale), fall = hatch(pen, ink.fall, false, scale);
  const raised = (from, to) => {
    run(BIT.rise, paint(rise, 1, from, to));
    run(BIT.fall, paint(fall, 1, from, to));
  };
  within(pen, GUTTER, 0, room, height, () => {
    shifts(0.13, top, bottom, false);
    raised(top, bottom);
    // The alarm usually lies over the shift; a solid rim keeps the shift in sight beneath it.
    shifts(1, top - 5, top - 1, false);
    drawBorders(pen, stream, view, x, top, bottom, room, ink);

    pen.lineJoin = stream.phase === undefined ? "round" : "bevel"; // half the cost, many times a second
    const ranged = starts[starts.length - 1] - starts[0] > xs.length || stream.per > 1;
    const risk = extremes(starts, stream.riskLow, stream.risk, stream.riskHigh);
    pen.fillStyle = pen.strokeStyle = ink.risk;
    if (ranged) ranges(chart, risk, y, 0.3, 0.75);
    polyline(chart, risk.mean, y, 1.4);
    const limit = extremes(starts, stream.thresholdLow, stream.threshold, stream.threshold);
    pen.fillStyle = pen.strokeStyle = ink.threshold;
    if (ranged) ranges(chart, limit, y, 0.35, 0.75);
    polyline(chart, limit.mean, y, ranged ? 1.5 : 1.6);
    if (!ranged) drawMarks(pen, stream, starts, xs, y, ink);
    if (stream.over) stream.over(pen, view, x, top, bottom, ink);
  });

  const contents = {
    flagged: (from, to) => density(chart, stream.flagged, from, to, ink.muted),
    ask: (from, to) => {
      density(chart, stream.ask, from, to, ink.abstain);
      run(BIT.warm, paint(ink.muted, 0.6, (from + to) / 2 - 1, (from + to) / 2 + 1));
    },
    wrong: (from, to) => density(chart, stream.wrong, from, to, ink.wrong),
    hold: (from, to) => {
      raised(from, to);
      arrows(pen, run, from, to, ink);
    },
    shift: (from, to) => shifts(0.75, from, to, true),
  };
  for (const own of stream.lanes || []) contents[own.name] = (from, to) => own.draw(pen, view, x, from, to, ink);
  lanes.forEach((lane, row) => {
    const from = bottom + 8 + row * LANE, to = from + LANE - 4;
    lettered(pen, ink, "right", "middle");
    pen.fillText(lane, GUTTER - 8, (from + to) / 2);
    paint(ink.line, 0.45, from, to)(GUTTER, GUTTER + room);
    within(pen, GUTTER, from, room, to - from, () => contents[lane](from, to));
  });
  (stream.ticks || timeTicks)(pen, view, width, height - axis + 2, stream.first, ink);
  return { top, bottom, y };
}

// The axis of the risk, and the lines of its ticks.
function drawScale(pen, stream, width, top, bottom, y, ink) {
  const step = niceStep(stream.top / 5);
  lettered(pen, ink, "right", "middle");
  for (let k = 0; k * step <= stream.top + 1e-9; k++) {
    const at = Math.round(y(k * step * 65536)) + 0.5;
    segment(pen, GUTTER, at, width - RIGHT, at);
    pen.fillText(String(Number((k * step).toFixed(4))), GUTTER - 8, at);
  }
  pen.save();
  pen.translate(12, (top + bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText("risk", 0, 0);
  pen.restore();
}

function arrows(pen, run, from, to, ink) {
  const middle = (from + to) / 2;
  for (const [bit, color, turn] of [[BIT.rise, ink.rise, -1], [BIT.fall, ink.fall, 1]]) {
    run(bit, (a, b) => {
      const at = Math.max(a, GUTTER) + 7;
      if (b - at < 6) return;
      const flat = middle - turn * 3.5;
      polygon(pen, color, [at - 4.5, flat], [at + 4.5, flat], [at, middle + turn * 4]);
    });
  }
}

function density({ pen, stream, starts, edges }, share, from, to, color) {
  pen.fillStyle = color;
  for (let g = 0; g + 1 < starts.length; g++) {
    let sum = 0;
    for (let i = starts[g]; i < starts[g + 1]; i++) sum += share[i];
    if (!sum) continue;
    // One hit among a hundred steps must still be seen, so the shade starts well above nothing.
    pen.globalAlpha = 0.25 + 0.75 * Math.sqrt(sum / (255 * (starts[g + 1] - starts[g])));
    let a = edges[g], b = edges[g + 1];
    if (stream.phase !== undefined) [a, b] = [Math.round(a), Math.max(Math.round(a) + 1, Math.round(b))];
    pen.fillRect(a, from, Math.max(1, b - a - (b - a > 3 ? 1 : 0)), to - from);
  }
  pen.globalAlpha = 1;
}

function drawBorders(pen, stream, view, x, top, bottom, room, ink) {
  const first = Math.max(0, Math.floor(view.from / stream.per)), last = Math.min(stream.cells, Math.ceil(view.to / stream.per));
  const found = [];
  for (let i = first; i < last; i++) if (stream.flags[i] & BIT.border) found.push(x(i * stream.per));
  // Too many lines would be a wall; then short ticks at the top tell where segments begin.
  const short = found.length > room / 8;
  pen.strokeStyle = ink.muted;
  pen.lineWidth = 1;
  pen.setLineDash(short ? [] : [3, 4]);
  pen.globalAlpha = short ? 0.5 : 0.9;
  pen.beginPath();
  for (const at of found) {
    pen.moveTo(Math.round(at) + 0.5, top);
    pen.lineTo(Math.round(at) + 0.5, short ? top + 5 : bottom);
  }
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function drawMarks(pen, stream, starts, xs, y, ink) {
  const gap = xs.length > 1 ? xs[1] - xs[0] : 20;
  const size = Math.max(3, Math.min(5, gap * 0.7));
  for (let g = 0; g < xs.length; g++) {
    const flags = stream.flags[starts[g]], at = y(stream.risk[starts[g]]), x = xs[g];
    pen.beginPath();
    if (flags & BIT.ask) {
      polygon(pen, ink.abstain, [x, at - size], [x + size, at], [x, at + size], [x - size, at]);
    } else if (gap > 5 || flags & BIT.flagged) {
      pen.arc(x, at, Math.min(3, size * 0.8), 0, 7);
      pen.fillStyle = flags & BIT.flagged ? ink.card : ink.risk;
      pen.strokeStyle = ink.risk;
      pen.lineWidth = 1.4;
      pen.fill();
      if (flags & BIT.flagged) pen.stroke();
    }
  }
}
