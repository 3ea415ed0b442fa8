// The reading: what is said about the step under the pointer, in the chart, beside it and to a screen reader.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);
const number = (value) => value.toLocaleString("en");
const risk = (word) => (word / 65536).toFixed(3);

function factsOfCell(stream, i, named) {
  const from = i * stream.per, size = Math.min(stream.steps, from + stream.per) - from;
  const held = (share) => Math.round((share[i] / 255) * size) + " of " + size;
  const out = [["Steps " + named(from) + "\u2013" + named(from + size - 1), ""]];
  out.push(["risk", risk(stream.riskLow[i]) + " to " + risk(stream.riskHigh[i])]);
  out.push(["threshold", risk(stream.thresholdLow[i]) + " to " + risk(stream.threshold[i])]);
  out.push(["flagged", held(stream.flagged)], ["ask", held(stream.ask)]);
  if (stream.wrong) out.push(["wrong", held(stream.wrong)]);
  return out;
}

function factsOfStep(stream, i, named) {
  const word = stream.threshold[i], flags = stream.flags[i];
  const out = [["Step " + named(i), ""], ["risk", risk(stream.risk[i])]];
  out.push(["threshold", word === 65535 ? "1 or more" : word === 0 ? "0 or less" : risk(word)]);
  const decision = decisionOf(flags), spent = decision === "act" && flags & BIT.flagged;
  out.push(["decision", spent ? "act, though flagged: the budget is spent" : decision]);
  const reason = stream.reasons[stream.reason[i]];
  if (reason || flags & BIT.flagged) out.push(["reason", reason ? reason[0] + ": " + reason[1] : "none stands out"]);
  const verdict = stream.wrong ? (stream.wrong[i] ? " (wrong)" : " (right)") : "";
  const shown = (number) => number + (stream.names[number] ? " " + stream.names[number] : "");
  const apart = stream.answer[i] !== stream.prediction[i];
  const ofAnswer = !apart || stream.about === "answer";
  out.push(["answer", shown(stream.answer[i]) + (ofAnswer ? verdict : "")]);
  if (apart) out.push(["prediction", shown(stream.prediction[i]) + (ofAnswer ? "" : verdict)]);
  return out;
}

// What is known about a step, as pairs of name and value.
function factsOf(stream, step, named) {
  const i = Math.min(stream.cells - 1, Math.floor(step / stream.per));
  const flags = stream.flags[i];
  const out = (stream.per > 1 ? factsOfCell : factsOfStep)(stream, i, named);
  const sides = [flags & BIT.rise ? "rise" : "", flags & BIT.fall ? "fall" : ""].filter(Boolean);
  if (sides.length) out.push(["alarm", sides.join(" and ")]);
  const known = [];
  if (flags & BIT.warm) known.push("warming up");
  if (flags & BIT.shifted) {
    const at = (stream.stretches || []).find(([from, to]) => from <= step && step < to);
    known.push(at ? "known shift: " + at[2] : "known shift");
  }
  if (flags & BIT.lowMass) known.push("low mass");
  if (known.length) out.push(["also", known.join(", ")]);
  return stream.more ? out.concat(stream.more(i)) : out;
}

function added(parent, className) {
  return parent.appendChild(Object.assign(document.createElement("div"), { className }));
}

// The reading line over all charts, and the tip beside it. `step` is null while nothing is read.
function makeReading(stream, view, stage, rows, spoken) {
  const cross = [stage, ...rows.map((r) => r.chart)].map((chart) => added(chart, "cross"));
  const tip = added(stage, "tip");
  const named = (step) => number(stream.number(step));
  const reading = { step: null };

  function fillTip(x) {
    tip.replaceChildren();
    for (const [name, value] of factsOf(stream, reading.step, named)) {
      const line = tip.appendChild(document.createElement("div"));
      line.appendChild(document.createElement(value ? "span" : "b")).textContent = name;
      if (value) line.appendChild(document.createElement("span")).textContent = value;
    }
    const left = x + 14 + tip.offsetWidth > stage.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.transform = "translate(" + Math.max(2, left) + "px, 12px)";
  }

  reading.show = () => {
    const step = reading.step;
    const seen = step !== null && step >= view.from - 0.5 && step < view.to + 0.5;
    const x = seen ? scaleX(view, stage.clientWidth)(Math.floor(step) + 0.5) : 0;
    for (const line of cross) {
      line.style.display = seen ? "block" : "none";
      line.style.transform = "translateX(" + x + "px)";
    }
    tip.style.display = seen ? "block" : "none";
    for (const r of rows) {
      const i = Math.min(r.row.cells - 1, Math.floor((step || 0) / r.row.per));
      const low = (r.row.low[i] / 255).toFixed(2), high = (r.row.high[i] / 255).toFixed(2);
      r.output.textContent = seen ? (low === high ? low : low + "\u2013" + high) : "";
    }
    if (seen) fillTip(x);
  };

  reading.clear = () => {
    reading.step = null;
    reading.show();
  };

  reading.announce = () => {
    reading.show();
    spoken.textContent = factsOf(stream, reading.step, named).map((pair) => pair.join(" ")).join(", ");
  };

  reading.or = (other) => (reading.step === null ? other : reading.step);
  return reading;
}

// What moves the view: keys, wheel, mouse and fingers on a chart, and the strip below the timeline.

function capture(element, pointer) {
  try {
    element.setPointerCapture(pointer);
  } catch (error) {
    return; // the pointer is gone already; a drag still works while it stays inside
  }
}

function onKeys(page, acts) {
  const { stage, stream, view, reading } = page;
  const move = (direction) => {
    const stride = Math.max(stream.per, Math.round(view.span() / page.room()));
    reading.step = page.inside(reading.step === null ? Math.floor(view.middle()) : reading.step + direction * stride);
    if (reading.step < view.from || reading.step >= view.to) view.pan(direction * view.span() / 2);
    reading.announce();
  };
  const keys = {
    ArrowLeft: (shift) => (shift ? acts.left() : move(-1)),
    ArrowRight: (shift) => (shift ? acts.right() : move(1)),
    "+": acts.in, "=": acts.in, "-": acts.out, 0: view.whole, Escape: view.whole,
    Home: () => view.look(0, view.span()), End: () => view.look(view.steps - view.span(), view.steps),
    n: () => page.nextAlarm(false), p: () => page.nextAlarm(true), ...page.keys,
  };
  (page.listening || stage).addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key, act = keys[name];
    if (!act || (page.leaves && page.leaves(event, name))) return;
    event.preventDefault();
    act(event.shiftKey);
  });
}

function onWheel(page, chart, local) {
  const { view } = page;
  chart.addEventListener("wheel", (event) => {
    // A page that is being scrolled past the chart goes on scrolling, and so does one that has no further out to go.
    if (event.ctrlKey === false && performance.now() - page.scrolled < 250) return;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    if (view.span() >= view.steps && (sideways || event.deltaY > 0)) return;
    event.preventDefault();
    if (sideways) {
      view.pan(((event.deltaX || event.deltaY) * unit / page.room()) * view.span());
      return;
    }
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.0022)));
    view.zoom(factor, Math.max(view.from, Math.min(view.to, page.stepAt(local(event)))));
  }, { passive: false });
}

// One drag for all charts: a finger may begin on one and a second on another.
function onPointers(page, charts) {
  const { view, reading } = page;
  const fingers = new Map();
  const brush = charts.map((chart) => added(chart, "brush"));
  let drag = null;

  function select(a, b, shown) {
    const edge = (px) => Math.max(GUTTER, Math.min(page.stage.clientWidth - RIGHT, px));
    for (const box of brush) {
      box.style.display = shown ? "block" : "none";
      box.style.transform = "translateX(" + Math.min(edge(a), edge(b)) + "px)";
      box.style.width = Math.abs(edge(a) - edge(b)) + "px";
    }
  }

  function begin(chart, event, x) {
    if (event.button) return;
    fingers.set(event.pointerId, x);
    capture(chart, event.pointerId);
    const touch = event.pointerType === "touch";
    drag = { kind: touch || event.shiftKey ? "pan" : "select", from: x, moved: false };
    if (fingers.size === 2) drag = { kind: "pinch", moved: true };
    else if (touch) page.read(x);
  }

  function move(event, x) {
    const before = fingers.get(event.pointerId);
    if (before === undefined || !drag) {
      page.read(x);
      return;
    }
    if (drag.kind === "pinch" && fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const apart = Math.max(12, Math.abs(before - other)) / Math.max(12, Math.abs(x - other));
      view.zoom(apart, page.stepAt((x + other) / 2));
    } else if (drag.kind === "pan") {
      drag.moved = drag.moved || Math.abs(x - drag.from) > 4;
      view.pan(-((x - before) / page.room()) * view.span());
    } else if (drag.kind === "select") {
      drag.moved = drag.moved || Math.abs(x - drag.from) > 4;
      select(drag.from, x, drag.moved);
    }
    fingers.set(event.pointerId, x);
    if (drag.kind !== "pinch") page.read(x);
  }

  function end(event, x) {
    if (!fingers.delete(event.pointerId) || !drag) return;
    if (drag.kind === "select" && drag.moved && event.type === "pointerup") {
      const ends = [page.stepAt(drag.from), page.stepAt(x)].sort((a, b) => a - b);
      view.look(Math.max(0, ends[0]), Math.min(view.steps, ends[1]));
    }
    if (!drag.moved && event.type === "pointerup" && page.press) page.press(x);
    select(0, 0, false);
    drag = fingers.size ? { kind: "pan", moved: true } : null;
  }

  charts.forEach((chart, index) => {
    const local = (event) => event.clientX - chart.getBoundingClientRect().left;
    onWheel(page, chart, local);
    chart.addEventListener("pointerdown", (event) => begin(chart, event, local(event)));
    chart.addEventListener("pointermove", (event) => move(event, local(event)));
    chart.addEventListener("pointerup", (event) => end(event, local(event)));
    chart.addEventListener("pointercancel", (event) => end(event, local(event)));
    chart.addEventListener("pointerleave", (event) => {
      if (!fingers.size && event.pointerType !== "touch") reading.clear();
    });
    chart.addEventListener("dblclick", view.whole);
    if (index) chart.style.cursor = "crosshair";
  });
  document.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" && !charts.some((chart) => chart.contains(event.target))) reading.clear();
  });
}

// The strip: drag the window or its ends, or press anywhere to go there.
function onStrip(view, overview) {
  let grip = null;
  const stepOf = (event) => {
    const box = overview.getBoundingClientRect();
    return ((event.clientX - box.left - GUTTER) / Math.max(1, box.width - GUTTER - RIGHT)) * view.steps;
  };
  overview.addEventListener("pointerdown", (event) => {
    const at = stepOf(event), near = (12 / Math.max(1, overview.clientWidth - GUTTER)) * view.steps;
    const kind = Math.abs(at - view.from) < near ? "from" : Math.abs(at - view.to) < near ? "to" : "all";
    if (kind === "all" && (at < view.from || at > view.to)) view.pan(at - view.middle());
    grip = { kind, at };
    capture(overview, event.pointerId);
  });
  overview.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = stepOf(event);
    if (grip.kind === "from") view.look(Math.max(0, Math.min(at, view.to - view.least)), view.to);
    else if (grip.kind === "to") view.look(view.from, Math.min(view.steps, Math.max(at, view.from + view.least)));
    else view.pan(at - grip.at);
    grip.at = at;
  });
  for (const type of ["pointerup", "pointercancel"]) overview.addEventListener(type, () => (grip = null));
  overview.addEventListener("dblclick", view.whole);
}

// The charts of signals below the timeline, by the rows that they draw.
function signalRows(rows) {
  return rows.map((row) => {
    const part = find('[data-signal="' + row.name + '"]');
    return { row, part, chart: find(".chart", part), canvas: find("canvas", part), output: find("output", part) };
  });
}

// What is seen, in the strip.
function showWindow(view, overview) {
  const width = overview.clientWidth - GUTTER - RIGHT, pane = find(".window", overview);
  pane.style.left = GUTTER + (view.from / view.steps) * width + "px";
  pane.style.width = Math.max(4, (view.span() / view.steps) * width) + "px";
}

// A page with a timeline: where its steps lie, what buttons, keys and pointers do, and `afresh`, when all changes.
function makePage(stream, view, reading, stage) {
  const page = { stream, stage, view, reading, scrolled: -1e9 };
  page.inside = (step) => Math.max(0, Math.min(stream.steps - 1, Math.floor(step)));
  page.room = () => Math.max(1, stage.clientWidth - GUTTER - RIGHT);
  page.stepAt = (px) => view.from + ((px - GUTTER) / page.room()) * view.span();
  page.outside = (px) => px < GUTTER || px > stage.clientWidth - RIGHT;
  page.acts = {
    in: () => view.zoom(0.5, reading.or(view.middle())),
    out: () => view.zoom(2, reading.or(view.middle())),
    left: () => view.pan(-view.span() / 3),
    right: () => view.pan(view.span() / 3),
    alarm: () => page.nextAlarm(false),
    reset: () => view.whole(),
  };
  page.listen = (overview, rows, afresh) => {
    for (const button of document.querySelectorAll("[data-act]")) {
      button.addEventListener("click", page.acts[button.dataset.act]);
    }
    onKeys(page, page.acts);
    onPointers(page, [stage, ...rows.map((r) => r.chart)]);
    onStrip(view, overview);
    window.addEventListener("scroll", () => (page.scrolled = performance.now()), { passive: true });
    new ResizeObserver(afresh).observe(stage);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", afresh);
  };
  return page;
}
