// Unpacking the stream and thinning it to one sample a pixel.
// The scripts of the page share one function scope, in the order of page.SCRIPTS.

const BIT = { flagged: 1, ask: 2, rise: 4, fall: 8, warm: 16, lowMass: 32, shifted: 64, border: 128 };

// A loop: Uint8Array.from takes twenty times as long.
function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

const words = (text) => new Uint16Array(bytes(text).buffer);

function unpack(data) {
  const two = (name, other) => (data[name] ? words(data[name]) : other);
  const one = (name) => (data[name] ? bytes(data[name]) : null);
  const classes = data.class_bytes === 2 ? two : one;
  const risk = two("risk"), threshold = two("threshold"), prediction = classes("prediction");
  const stream = {
    steps: data.steps, first: data.first, per: data.per, cells: risk.length, top: data.top, risk, threshold,
    riskLow: two("risk_low", risk), riskHigh: two("risk_high", risk), thresholdLow: two("threshold_low", threshold),
    flags: one("flags"), reason: one("reason"), prediction, answer: classes("answer") || prediction,
    number: (i) => data.first + i,
    reasons: data.reasons, shifts: data.shifts, stretches: data.stretches, names: data.names || [], about: data.about,
  };
  // Shares of a cell in 1/255: from the flags where a cell is one step, else as packed.
  const shares = (name, hit) => one(name + "_share") || stream.flags.map((_, i) => (hit(i) ? 255 : 0));
  stream.flagged = shares("flagged", (i) => stream.flags[i] & BIT.flagged);
  stream.ask = shares("ask", (i) => stream.flags[i] & BIT.ask);
  const bits = one("wrong");
  stream.wrong = bits || data.wrong_share ? shares("wrong", (i) => (bits[i >> 3] >> (i & 7)) & 1) : null;
  stream.onsets = [];
  const raised = BIT.rise | BIT.fall;
  for (let i = 0; i < stream.cells; i++) {
    if (stream.flags[i] & raised && !(i && stream.flags[i - 1] & raised)) stream.onsets.push(i * data.per);
  }
  stream.signals = (data.signals ? data.signals.rows : []).map((row) => {
    const mean = bytes(row.mean), low = row.low ? bytes(row.low) : mean, high = row.high ? bytes(row.high) : mean;
    return { name: row.name, per: data.signals.per, cells: mean.length, mean, low, high };
  });
  return stream;
}

// What a device does with a step: while the alarm is on, nothing else counts.
function decisionOf(flags) {
  return flags & (BIT.rise | BIT.fall) ? "hold" : flags & BIT.ask ? "ask" : "act";
}

// The cells in view, and one more on each side so that lines run out of the frame, in at most `most`
// groups of neighbors; every cell is in exactly one group. With a phase, groups of one size begin at
// multiples of it, so that a picture that moves on does not flicker.
function groups(view, per, cells, most, phase) {
  const first = Math.max(0, Math.floor(view.from / per) - 1);
  const last = Math.min(cells, Math.ceil(view.to / per) + 1);
  const number = Math.max(1, Math.min(last - first, Math.floor(most)));
  if (phase !== undefined) {
    const size = Math.max(1, Math.ceil((last - first) / number)), found = [first];
    for (let i = first + size - ((first + phase) % size); i < last; i += size) found.push(i);
    return Int32Array.from([...found, last]);
  }
  const starts = new Int32Array(number + 1);
  for (let g = 0; g <= number; g++) starts[g] = first + Math.floor((g * (last - first)) / number);
  return starts;
}

// Extremes and mean of each group: no peak is lost, however many steps a pixel holds.
function extremes(starts, low, mean, high) {
  const number = starts.length - 1;
  const out = { low: new Float64Array(number), mean: new Float64Array(number), high: new Float64Array(number) };
  for (let g = 0; g < number; g++) {
    let least = Infinity, most = -Infinity, sum = 0;
    for (let i = starts[g]; i < starts[g + 1]; i++) {
      if (low[i] < least) least = low[i];
      if (high[i] > most) most = high[i];
      sum += mean[i];
    }
    out.low[g] = least;
    out.high[g] = most;
    out.mean[g] = sum / (starts[g + 1] - starts[g]);
  }
  return out;
}

// The view: which steps are seen. Everything that moves it goes through `look`.

function makeView(stream, changed) {
  const view = {
    from: 0, to: stream.steps,
    get steps() { return stream.steps; }, // a stream may grow
    get least() { return Math.min(stream.steps, Math.max(8, 4 * stream.per)); },
  };
  const within = (from, span) => Math.max(0, Math.min(view.steps - span, from));

  view.span = () => view.to - view.from;
  view.middle = () => (view.from + view.to) / 2;

  view.look = (from, to) => {
    const span = Math.max(view.least, Math.min(view.steps, to - from));
    view.from = within((from + to) / 2 - span / 2, span);
    view.to = view.from + span;
    changed();
  };

  view.zoom = (factor, around) => {
    const span = Math.max(view.least, Math.min(view.steps, view.span() * factor));
    const share = (around - view.from) / view.span();
    const from = within(around - share * span, span);
    view.look(from, from + span);
  };

  view.pan = (distance) => {
    const span = view.span(), from = within(view.from + distance, span);
    view.look(from, from + span);
  };

  view.whole = () => view.look(0, view.steps);
  return view;
}
