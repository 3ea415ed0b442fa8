// The steps that the page holds, in the shape that the drawing of the report reads: one cell a step.

const CAPACITY = 1 << 18; // steps; beyond that the oldest go
const REMARKS_HELD = 1000;
const KINDS = { "<f8": Float64Array, "<f4": Float32Array, "<i2": Int16Array, u1: Uint8Array };
// Columns that are held as they come, and those that are made of them.
const COPIED = {
  time: Float64Array, flags: Uint8Array, prediction: Int16Array, answer: Int16Array, uncertainty: Float32Array,
  look: Float32Array, severity: Float32Array,
};
const MADE = {
  numbers: Float64Array, risk: Uint16Array, threshold: Uint16Array, reason: Uint8Array, flagged: Uint8Array,
  abstain: Uint8Array, marked: Uint8Array, persistence: Float32Array, accuracy: Float32Array,
};
const ARRAYS = Object.entries({ ...COPIED, ...MADE });
const AXIS_TOPS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1];
const asWord = (value) => Math.max(0, Math.min(65535, Math.round(value * 65536) || 0));

function unpackPart(part, columns) {
  const raw = bytes(part.data).buffer, out = {};
  let at = 0;
  for (const [name, kind] of columns) {
    out[name] = new KINDS[kind](raw, at, part.count);
    at += part.count * KINDS[kind].BYTES_PER_ELEMENT;
  }
  return out;
}

function makeSteps() {
  const stream = {
    steps: 0, cells: 0, first: 0, per: 1, phase: 0, top: 0.1, reach: 0.1, peak: 0, reasons: [], names: [], shifts: false,
    wrong: null, about: "answer", dropped: 0, remarks: [], signals: new Map(), gaps: [], again: 0, meaning: () => "",
    totals: { steps: 0, flagged: 0, abstained: 0, alarms: 0, remarks: {} },
    rows: ["persistence", "accuracy"].map((name) => ({ name, per: 1, cells: 0 })),
  };
  let room = 0;

  function make(size) {
    for (const [name, Kind] of ARRAYS) {
      const grown = new Kind(size);
      if (stream[name]) grown.set(stream[name].subarray(0, stream.steps));
      stream[name] = grown;
    }
    stream.riskLow = stream.riskHigh = stream.risk;
    stream.thresholdLow = stream.threshold;
    // Rows are drawn in 1/255, as the report has them; a real number keeps all its digits there.
    for (const row of stream.rows) row.low = row.mean = row.high = stream[row.name];
    room = size;
  }
  make(1 << 15);

  function resize() {
    stream.cells = stream.steps;
    for (const row of stream.rows) row.cells = stream.steps;
    stream.reach = AXIS_TOPS.find((top) => stream.peak / 65536 <= top) || 1;
  }

  function forget(gone) {
    for (const place of stream.signals.keys()) if (gone(place)) stream.signals.delete(place);
  }

  // Lets go of the oldest steps; what is known by place moves along.
  function drop(count) {
    for (const [name] of ARRAYS) stream[name].copyWithin(0, count, stream.steps);
    stream.steps -= count;
    stream.dropped += count;
    stream.phase += count;
    stream.again = Math.max(0, stream.again - count);
    stream.gaps = stream.gaps.map((gap) => ({ ...gap, at: gap.at - count })).filter((gap) => gap.at > 0);
    forget((place) => place < stream.dropped);
  }

  stream.number = (i) => stream.numbers[i];
  // The place before which something happened that is told by the number of a step; -1 where it is not held.
  stream.placeOf = (wanted) => {
    if (!stream.steps) return wanted < 0 ? -1 : 0;
    // Where numbers once went back, the newest step of that number is meant.
    const newest = wanted >= stream.numbers[stream.again], end = newest ? stream.steps : stream.again;
    let low = newest ? stream.again : 0, high = end;
    if (wanted < stream.numbers[low]) return -1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (stream.numbers[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  stream.holds = (wanted) => {
    const at = stream.placeOf(wanted);
    return at < stream.steps && stream.numbers[at] === wanted ? at : -1;
  };
  stream.signalsAt = (i) => stream.signals.get(stream.dropped + i);

  // A program that was started again tells its steps again: from there on they take the place of ours.
  stream.cutFrom = (wanted) => {
    if (!stream.steps || wanted > stream.numbers[stream.steps - 1]) return;
    const at = Math.max(0, stream.placeOf(wanted));
    stream.steps = at;
    if (stream.again >= at) stream.again = 0;
    stream.gaps = stream.gaps.filter((gap) => gap.at < at);
    stream.remarks = stream.remarks.filter((remark) => remark.step < wanted);
    forget((place) => place >= stream.dropped + at);
    resize();
  };

  function reasonNumber(name) {
    const at = stream.reasons.findIndex((known) => known[0] === name);
    return at < 0 ? stream.reasons.push([name, stream.meaning(name)]) - 1 : at;
  }

  function numberSteps(runs) {
    for (const [first, count] of runs) {
      const at = stream.steps, expected = at ? stream.numbers[at - 1] + 1 : first;
      if (first !== expected) stream.gaps.push({ at, from: expected, to: first });
      if (first < expected) stream.again = at;
      for (let i = 0; i < count; i++) stream.numbers[at + i] = first + i;
      stream.steps += count;
    }
  }

  // Returns how many of the oldest steps went.
  stream.append = (part, columns) => {
    const came = unpackPart(part, columns), after = stream.steps + part.count;
    const gone = after > CAPACITY ? Math.min(stream.steps, Math.max(CAPACITY >> 3, after - CAPACITY)) : 0;
    while (after > room && room < CAPACITY) make(room * 2);
    if (gone) drop(gone);
    const base = stream.steps, reasons = (part.reasons || []).map(reasonNumber);
    numberSteps(part.runs);
    for (const name of Object.keys(COPIED)) stream[name].set(came[name], base);
    for (let i = 0; i < part.count; i++) {
      const to = base + i, flags = came.flags[i], limit = asWord(came.threshold[i]);
      stream.risk[to] = asWord(came.risk[i]);
      stream.threshold[to] = limit;
      stream.flagged[to] = flags & BIT.flagged ? 255 : 0;
      stream.abstain[to] = flags & BIT.abstain ? 255 : 0;
      stream.marked[to] = 0;
      stream.reason[to] = came.reason[i] === 255 ? 255 : reasons[came.reason[i]];
      stream.persistence[to] = came.persistence[i] * 255;
      stream.accuracy[to] = came.expected_accuracy[i] * 255;
      stream.peak = Math.max(stream.peak, stream.risk[to], limit < 65535 ? limit : 0);
    }
    const { names, rows } = part.signals || { rows: [] };
    for (const [i, ...values] of rows) stream.signals.set(stream.dropped + base + i, { names, values });
    resize();
    return gone;
  };

  stream.addRemarks = (remarks) => {
    stream.remarks = [...stream.remarks, ...remarks].slice(-REMARKS_HELD);
    for (const remark of stream.remarks) {
      const at = remark.kind === "mark" ? stream.holds(remark.step) : -1;
      if (at >= 0) stream.marked[at] = 255;
    }
  };
  return stream;
}

function nextOnset(stream, at, back) {
  const raised = (i) => i >= 0 && stream.flags[i] & (BIT.rise | BIT.fall);
  const step = back ? -1 : 1;
  for (let i = Math.floor(at) + step; i >= 0 && i < stream.steps; i += step) if (raised(i) && !raised(i - 1)) return i;
  return -1;
}
