// What the page holds, the view that moves along with it, and the connection that brings it.

const CAPACITY = 1 << 18; // steps; beyond that the oldest go
const SECONDS_SHOWN = 60;
const PARTS = 2880, PART = 30; // parts of the past that the server tells of, and the seconds of one
const SILENCE = 14000; // ms; the server says something every 5 s
const SLOWEST = 4000; // ms between two tries to connect
// What a message holds of each step, in its order (pages/feed.py), and what is made of that.
const SENT = Object.entries({
  time: Float64Array, persistence: Float32Array, accuracy: Float32Array, low: Float32Array, high: Float32Array,
  degradation: Float32Array, risk: Uint16Array, threshold: Uint16Array, prediction: Int16Array, answer: Int16Array,
  flags: Uint8Array, reason: Uint8Array, moved: Uint8Array,
});
const ARRAYS = [...SENT, ["flagged", Uint8Array], ["ask", Uint8Array]];
const AXIS_TOPS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1];

// The steps, one after the other, in the shape that the drawing of the report reads: one cell a step.
function makeSteps(reasons) {
  const stream = {
    steps: 0, cells: 0, first: 0, per: 1, phase: 0, top: 0.1, peak: 0, reasons, names: [], shifts: false,
    wrong: null, about: "answer", remarks: [], signals: new Map(), counts: {}, now: {}, labels: {}, past: [], numbers: null, wide: 0,
  };
  for (const [name, Kind] of ARRAYS) stream[name] = new Kind(CAPACITY);
  stream.riskLow = stream.riskHigh = stream.risk;
  stream.thresholdLow = stream.threshold;
  // Rows are drawn in 1/255, as the report has them; a real number keeps all its digits there.
  stream.rows = ["persistence"].map((name) => {
    return { name, per: 1, cells: 0, low: stream[name], mean: stream[name], high: stream[name] };
  });
  stream.number = (i) => stream.first + i;
  stream.holds = (number) => number >= stream.first && number < stream.first + stream.steps;

  function forget(gone) {
    for (const number of stream.signals.keys()) if (gone(number)) stream.signals.delete(number);
  }

  function dropOldest(count) {
    for (const [name] of ARRAYS) stream[name].copyWithin(0, count, stream.steps);
    if (stream.wide) stream.numbers.copyWithin(0, count * stream.wide, stream.steps * stream.wide);
    stream.steps -= count;
    stream.first += count;
    forget((number) => number < stream.first);
  }

  // Steps usually follow those that are held. After a restart of the program the last ones come again, and after
  // a long absence or a new start there is a gap: the page then begins with what came.
  function makeRoom(first, count) {
    const follows = first >= stream.first && first <= stream.first + stream.steps;
    forget((number) => !follows || number >= first);
    if (follows) {
      stream.steps = first - stream.first;
      if (stream.steps + count > CAPACITY) dropOldest(CAPACITY >> 3);
      return;
    }
    const unseen = first - stream.first - stream.steps;
    if (unseen <= 0) stream.remarks = stream.past = [];
    else if (stream.steps) {
      const text = number(unseen) + " steps were not seen by this page";
      stream.remarks = [...stream.remarks, { kind: "missing", text, step: first, time: Date.now() / 1000 }];
    }
    Object.assign(stream, { first, steps: 0, peak: 0 });
  }

  stream.append = (part) => {
    const raw = bytes(part.data).buffer;
    if (part.count) makeRoom(part.first, part.count);
    let at = 0;
    for (const [name, Kind] of SENT) {
      stream[name].set(new Kind(raw, at, part.count), stream.steps);
      at += part.count * Kind.BYTES_PER_ELEMENT;
    }
    for (let i = stream.steps; i < stream.steps + part.count; i++) {
      const limit = stream.threshold[i];
      stream.flagged[i] = stream.flags[i] & BIT.flagged ? 255 : 0;
      stream.ask[i] = stream.flags[i] & BIT.ask ? 255 : 0;
      stream.peak = Math.max(stream.peak, stream.risk[i], limit < 65535 ? limit : 0);
    }
    if (stream.wide) stream.numbers.set(new Int8Array(bytes(part.numbers).buffer), stream.steps * stream.wide);
    for (const [number, ...values] of part.signals) stream.signals.set(number, values);
    stream.steps += part.count;
    stream.phase = stream.first;
    stream.cells = stream.steps;
    for (const row of stream.rows) row.cells = stream.steps;
    stream.counts = part.counts;
    stream.labels = part.labels;
    stream.now = part.now;
    // A program that was started again tells of its day anew.
    const known = part.past.length ? stream.past.filter(([time]) => time < part.past[0][0]) : stream.past;
    stream.past = [...known, ...part.past].slice(-PARTS);
    if (part.remarks.length) stream.remarks = [...stream.remarks, ...part.remarks].slice(-1000);
  };
  // How many numbers each step has: nothing else is known of them before the first step.
  stream.widen = (wide) => {
    if (wide !== stream.wide) Object.assign(stream, { wide, numbers: new Int8Array(CAPACITY * wide) });
  };
  stream.reach = () => AXIS_TOPS.find((top) => stream.peak / 65536 <= top) || 1;
  // Steps a second, by the clock of the last ones.
  stream.rate = () => {
    const last = stream.steps - 1, first = Math.max(0, last - 500);
    const seconds = stream.time[last] - stream.time[first];
    return seconds > 0 ? (last - first) / seconds : null;
  };
  return stream;
}

// The view follows the end until someone looks back or pauses.
function makeFollowing(stream, changed, acted) {
  const view = makeView(stream, changed);
  const { look, zoom, pan } = view;
  Object.assign(view, { following: true, chosen: 0, usual: 300 });

  view.look = (from, to) => {
    look(from, to);
    view.chosen = view.span() >= view.steps ? Infinity : view.span();
    if (view.to < view.steps) view.following = false;
    acted();
  };
  view.zoom = (factor, around) => zoom(factor, view.following ? view.to : around);
  view.pan = (distance) => {
    pan(distance);
    view.following = view.to >= view.steps;
  };
  view.goTo = (from, to) => {
    view.look(from, to);
    view.following = false;
  };
  // New steps came, and so many of the oldest went.
  view.moved = (gone) => {
    const usual = Math.max(300, Math.min(20000, niceStep((stream.rate() || 1) * SECONDS_SHOWN)));
    // A rate that wavers must not make the picture breathe.
    if (usual > 2.1 * view.usual || usual < view.usual / 2.1) view.usual = usual;
    if (view.following) look(view.steps - Math.min(view.chosen || view.usual, view.steps), view.steps);
    else look(view.from - gone, view.to - gone);
  };
  return view;
}

// The connection comes back by itself, and goes on where it was.
function connect(heard) {
  let source = null, known = "", tries = 0, watch = 0, ended = false;

  function lose() {
    source.close();
    clearTimeout(watch);
    tries += 1;
    if (tries <= 2) heard.state(ended ? "ended" : "away");
    // A stream that is refused does not say why.
    if (tries === 2) fetch("/").then((answer) => answer.status === 401 && heard.state("locked"), () => {});
    setTimeout(open, Math.min(SLOWEST, 250 * 2 ** Math.min(tries, 6)));
  }

  function hear(kind, act) {
    source.addEventListener(kind, (event) => {
      clearTimeout(watch);
      watch = setTimeout(lose, SILENCE);
      act(JSON.parse(event.data), event.lastEventId);
    });
  }

  function open() {
    source = new EventSource("/feed" + (known ? "?after=" + encodeURIComponent(known) : ""));
    source.addEventListener("error", lose);
    watch = setTimeout(lose, SILENCE);
    hear("beat", () => {});
    hear("hello", (about) => {
      tries = 0;
      ended = false;
      heard.hello(about);
    });
    hear("part", (part, name) => {
      known = name;
      heard.part(part);
    });
    hear("end", () => {
      ended = true;
      lose();
    });
  }
  open();
}
