// The steps that the page holds, in the shape that the drawing of the report reads: one cell a step.

const CAPACITY = 1 << 18; // steps; beyond that the oldest go
const REMARKS_HELD = 1000;
const KINDS = {
  "<f8": Float64Array, "<f4": Float32Array, "<i2": Int16Array, u1: Uint8Array,
};
const ARRAYS = {
  time: Float64Array, risk: Uint16Array, threshold: Uint16Array, flags: Uint8Array, reason: Uint8Array,
  prediction: Int16Array, answer: Int16Array, flagged: Uint8Array, abstain: Uint8Array, marked: Uint8Array,
  uncertainty: Float32Array, look: Float32Array, severity: Float32Array, persistence: Float32Array,
  accuracy: Float32Array,
};
const AXIS_TOPS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1];

function unpackPart(part, columns) {
  const raw = bytes(part.data).buffer, out = {};
  let at = 0;
  for (const [name, kind] of columns) {
    out[name] = new KINDS[kind](raw, at, part.count);
    at += part.count * KINDS[kind].BYTES_PER_ELEMENT;
  }
  return out;
}

// The runs of the last steps, for a part that holds more than the page.
function lastOf(runs, count) {
  const out = [];
  for (let k = runs.length - 1; k >= 0 && count > 0; k--) {
    const [first, length] = runs[k], kept = Math.min(length, count);
    out.unshift([first + length - kept, kept]);
    count -= kept;
  }
  return out;
}

// The last of some ordered things of which something holds that holds for all before it; -1 for none.
function lastWhere(things, holds) {
  let low = 0, high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(things[middle])) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const asWord = (value) => Math.max(0, Math.min(65535, Math.round(value * 65536) || 0));

function makeSteps() {
  const stream = {
    steps: 0, cells: 0, first: 0, per: 1, phase: 0, top: 0.1, reach: 0.1, reasons: [], names: [], shifts: false, wrong: null,
    about: "answer", dropped: 0, remarks: [], signals: new Map(), segments: [], gaps: [], ordered: true,
    totals: { steps: 0, flagged: 0, abstained: 0, alarms: 0, remarks: {} },
  };
  let room = 0;

  function make(size) {
    for (const [name, Kind] of Object.entries(ARRAYS)) {
      const grown = new Kind(size);
      if (stream[name]) grown.set(stream[name].subarray(0, stream.steps));
      stream[name] = grown;
    }
    stream.riskLow = stream.riskHigh = stream.risk;
    stream.thresholdLow = stream.threshold;
    // Rows are drawn in 1/255, as the report has them; a real number keeps all its digits there.
    for (const row of stream.rows || []) row.low = row.mean = row.high = stream[row.name];
    room = size;
  }
  stream.rows = ["persistence", "accuracy"].map((name) => ({ name, per: 1, cells: 0 }));
  make(1 << 15);

  function resize() {
    stream.cells = stream.steps;
    for (const row of stream.rows) row.cells = stream.steps;
    const most = stream.peak / 65536;
    stream.reach = AXIS_TOPS.find((top) => most <= top) || 1;
  }

  // Lets go of the oldest steps; what is known by place moves along.
  function drop(count) {
    for (const name of Object.keys(ARRAYS)) stream[name].copyWithin(0, count, stream.steps);
    stream.steps -= count;
    stream.dropped += count;
    stream.phase += count;
    while (stream.segments.length > 1 && stream.segments[1].at <= count) stream.segments.shift();
    for (const segment of stream.segments) {
      const cut = Math.max(0, count - segment.at);
      segment.number += cut;
      segment.at = Math.max(0, segment.at - count);
    }
    stream.gaps = stream.gaps.map((gap) => ({ ...gap, at: gap.at - count })).filter((gap) => gap.at > 0);
    for (const place of [...stream.signals.keys()]) if (place < stream.dropped) stream.signals.delete(place);
  }

  // Number of the step at a place, and back; -1 where the page does not hold it.
  stream.number = (i) => {
    const k = Math.max(0, lastWhere(stream.segments, (segment) => segment.at <= i));
    return stream.segments.length ? stream.segments[k].number + i - stream.segments[k].at : i;
  };
  // The place before which something happened that is told by the number of a step.
  stream.placeOf = (wanted) => {
    // Where numbers once went back, the newest step of that number is meant.
    const begun = (segment) => segment.number <= wanted, parts = stream.segments;
    const k = stream.ordered ? lastWhere(parts, begun) : parts.findLastIndex(begun);
    if (k < 0) return parts.length || wanted < 0 ? -1 : 0;
    const end = k + 1 < parts.length ? parts[k + 1].at : stream.steps;
    return Math.min(end, parts[k].at + wanted - parts[k].number);
  };
  stream.holds = (wanted) => {
    const at = stream.placeOf(wanted);
    return at >= 0 && at < stream.steps && stream.number(at) === wanted ? at : -1;
  };
  stream.next = () => (stream.steps ? stream.number(stream.steps - 1) + 1 : null);
  stream.signalsAt = (i) => stream.signals.get(stream.dropped + i);

  // A program that was started again tells its steps again: from there on they take the place of ours.
  stream.cutFrom = (wanted) => {
    if (!stream.steps || wanted >= stream.next()) return;
    const at = Math.max(0, stream.placeOf(wanted));
    stream.steps = at;
    stream.segments = stream.segments.filter((segment) => segment.at < at);
    stream.gaps = stream.gaps.filter((gap) => gap.at < at);
    stream.remarks = stream.remarks.filter((remark) => remark.step < wanted);
    for (const place of [...stream.signals.keys()]) if (place >= stream.dropped + at) stream.signals.delete(place);
    resize();
  };

  function reasonNumbers(names) {
    return (names || []).map((name) => {
      let at = stream.reasons.findIndex((known) => known[0] === name);
      if (at < 0) at = stream.reasons.push([name, stream.meaning(name)]) - 1;
      return at;
    });
  }
  stream.meaning = () => "";

  stream.peak = 0;
  // Returns how many of the oldest steps went.
  stream.append = (part, columns) => {
    let gone = 0;
    const came = unpackPart(part, columns);
    const skip = Math.max(0, part.count - CAPACITY);
    const count = part.count - skip;
    while (stream.steps + count > room && room < CAPACITY) make(room * 2);
    if (stream.steps + count > CAPACITY) {
      gone = Math.min(stream.steps, Math.max(CAPACITY >> 3, stream.steps + count - CAPACITY));
      drop(gone);
    }
    const base = stream.steps, reasons = reasonNumbers(part.reasons);
    if (!base) Object.assign(stream, { segments: [], ordered: true });
    for (const [first, length] of lastOf(part.runs, count)) {
      const expected = stream.next();
      if (first !== expected) {
        if (expected !== null && first < expected) stream.ordered = false;
        if (expected !== null) stream.gaps.push({ at: stream.steps, from: expected, to: first });
        stream.segments.push({ at: stream.steps, number: first });
      }
      stream.steps += length;
    }
    for (let i = 0; i < count; i++) {
      const from = i + skip, to = base + i, flags = came.flags[from];
      const risk = asWord(came.risk[from]), threshold = asWord(came.threshold[from]);
      stream.time[to] = came.time[from];
      stream.risk[to] = risk;
      stream.threshold[to] = threshold;
      stream.flags[to] = flags;
      stream.flagged[to] = flags & BIT.flagged ? 255 : 0;
      stream.abstain[to] = flags & BIT.abstain ? 255 : 0;
      stream.marked[to] = 0;
      stream.reason[to] = came.reason[from] === 255 ? 255 : reasons[came.reason[from]];
      stream.prediction[to] = came.prediction[from];
      stream.answer[to] = came.answer[from];
      stream.uncertainty[to] = came.uncertainty[from];
      stream.look[to] = came.look[from];
      stream.severity[to] = came.severity[from];
      stream.persistence[to] = came.persistence[from] * 255;
      stream.accuracy[to] = came.expected_accuracy[from] * 255;
      if (risk > stream.peak) stream.peak = risk;
      if (threshold > stream.peak && threshold < 65535) stream.peak = threshold;
    }
    if (part.signals) {
      for (const [i, ...values] of part.signals.rows) {
        if (i >= skip) stream.signals.set(stream.dropped + base + i - skip, { names: part.signals.names, values });
      }
    }
    resize();
    return gone;
  };

  stream.addRemarks = (remarks) => {
    stream.remarks.push(...remarks);
    if (stream.remarks.length > REMARKS_HELD) stream.remarks.splice(0, stream.remarks.length - REMARKS_HELD);
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
