// The view (which steps are seen), what moves it, and what is said about the step under the pointer.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);

function start() {
  const stream = unpack(JSON.parse(find("#tcuq-data").textContent));
  const { steps, per } = stream;
  const stage = find("#stage"), overview = find("#overview"), range = find("#range"), spoken = find("#spoken");
  const rows = stream.signals.map((row) => {
    const part = find('[data-signal="' + row.name + '"]');
    return { row, chart: find(".chart", part), canvas: find("canvas", part), output: find("output", part) };
  });
  const charts = [stage, ...rows.map((r) => r.chart)];
  const least = Math.min(steps, Math.max(8, 4 * per));
  const view = { from: 0, to: steps };
  let ink = palette(), frame = 0, reading = null, fullDirty = true;

  const cross = charts.map((chart) => chart.appendChild(Object.assign(document.createElement("div"), { className: "cross" })));
  const brush = charts.map((chart) => chart.appendChild(Object.assign(document.createElement("div"), { className: "brush" })));
  const tip = stage.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
  const pane = find(".window", overview);

  const number = (value) => value.toLocaleString("en");
  const named = (step) => number(stream.first + step);
  const risk = (word) => (word / 65536).toFixed(3);
  const room = () => Math.max(1, stage.clientWidth - GUTTER - RIGHT);
  const stepAt = (px) => view.from + ((px - GUTTER) / room()) * (view.to - view.from);
  const inside = (step) => Math.max(0, Math.min(steps - 1, Math.floor(step)));

  function redraw() {
    frame = 0;
    drawTimeline(find("canvas", stage), stream, view, ink);
    rows.forEach((r, k) => drawSignal(r.canvas, r.row, stream, view, k === rows.length - 1, ink));
    if (fullDirty) drawOverview(find("canvas", overview), stream, ink);
    fullDirty = false;
    showReading();
  }

  function refresh() {
    if (!frame) frame = requestAnimationFrame(redraw);
  }

  // Where the view is, at once; only the drawing waits for the next frame.
  function tell() {
    const width = overview.clientWidth - GUTTER - RIGHT;
    pane.style.left = GUTTER + (view.from / steps) * width + "px";
    pane.style.width = Math.max(4, ((view.to - view.from) / steps) * width) + "px";
    const first = inside(view.from), last = inside(Math.ceil(view.to) - 1);
    range.textContent = "Steps " + named(first) + "\u2013" + named(last) + " (" + number(last - first + 1) + " of " + number(steps) + ")";
    root.dataset.from = first;
    root.dataset.to = last;
  }

  function look(from, to) {
    const span = Math.max(least, Math.min(steps, to - from));
    const middle = (from + to) / 2;
    view.from = Math.max(0, Math.min(steps - span, middle - span / 2));
    view.to = view.from + span;
    tell();
    refresh();
  }

  function zoom(factor, around) {
    const span = Math.max(least, Math.min(steps, (view.to - view.from) * factor));
    const share = (around - view.from) / (view.to - view.from);
    const from = Math.max(0, Math.min(steps - span, around - share * span));
    look(from, from + span);
  }

  function pan(distance) {
    const span = view.to - view.from;
    const from = Math.max(0, Math.min(steps - span, view.from + distance));
    look(from, from + span);
  }

  function whole() {
    look(0, steps);
  }

  function nextAlarm(back) {
    const at = reading === null ? (view.to - view.from < steps ? (view.from + view.to) / 2 : back ? steps : -1) : reading;
    const ahead = stream.onsets.filter((t) => (back ? t < Math.floor(at) - 0.5 * per : t > at + 0.5 * per));
    const target = back ? ahead[ahead.length - 1] : ahead.length ? ahead[0] : stream.onsets[0];
    if (target === undefined) {
      spoken.textContent = "No alarm was raised.";
      return;
    }
    const span = Math.min(view.to - view.from, Math.max(least, steps / 8));
    look(target - span / 2, target + span / 2);
    reading = target;
    announce();
  }

  // What is known about a step, as pairs of name and value.
  function facts(step) {
    const i = Math.min(stream.cells - 1, Math.floor(step / per));
    const flags = stream.flags[i];
    const side = (flags & BIT.rise ? "rise" : "") + (flags & BIT.rise && flags & BIT.fall ? " and " : "") + (flags & BIT.fall ? "fall" : "");
    const out = [];
    if (per > 1) {
      const from = i * per, size = Math.min(steps, from + per) - from;
      const held = (share) => Math.round((share[i] / 255) * size) + " of " + size;
      out.push(["Steps " + named(from) + "\u2013" + named(from + size - 1), ""]);
      out.push(["risk", risk(stream.riskLow[i]) + " to " + risk(stream.riskHigh[i])]);
      out.push(["threshold", risk(stream.thresholdLow[i]) + " to " + risk(stream.threshold[i])]);
      out.push(["flagged", held(stream.flagged)], ["abstained", held(stream.abstain)]);
      if (stream.wrong) out.push(["wrong", held(stream.wrong)]);
    } else {
      const word = stream.threshold[i];
      out.push(["Step " + named(i), ""]);
      out.push(["risk", risk(stream.risk[i])]);
      out.push(["threshold", word === 65535 ? "1 or more" : word === 0 ? "0 or less" : risk(word)]);
      const kept = flags & BIT.flagged ? "accepted, though flagged" : "accepted";
      out.push(["decision", flags & BIT.abstain ? "abstained" : kept]);
      const reason = stream.reasons[stream.reason[i]];
      out.push(["reason", reason ? reason[0] + ": " + reason[1] : "none stands out"]);
      const verdict = stream.wrong ? (stream.wrong[i] ? " (wrong)" : " (right)") : "";
      out.push(["class", stream.label[i] + verdict]);
    }
    if (side) out.push(["alarm", side]);
    const known = [];
    if (flags & BIT.warm) known.push("warming up");
    if (flags & BIT.shifted) known.push("known shift");
    if (flags & BIT.lowMass) known.push("low mass");
    if (known.length) out.push(["also", known.join(", ")]);
    return out;
  }

  function showReading() {
    const seen = reading !== null && reading >= view.from - 0.5 && reading < view.to + 0.5;
    const x = seen ? scaleX(view, stage.clientWidth)(Math.floor(reading) + 0.5) : 0;
    for (const line of cross) {
      line.style.display = seen ? "block" : "none";
      line.style.transform = "translateX(" + x + "px)";
    }
    tip.style.display = seen ? "block" : "none";
    for (const r of rows) {
      const i = Math.min(r.row.cells - 1, Math.floor((reading || 0) / r.row.per));
      const low = (r.row.low[i] / 255).toFixed(2), high = (r.row.high[i] / 255).toFixed(2);
      r.output.textContent = seen ? (low === high ? low : low + "\u2013" + high) : "";
    }
    if (!seen) return;
    tip.replaceChildren();
    for (const [name, value] of facts(reading)) {
      const line = tip.appendChild(document.createElement("div"));
      line.appendChild(document.createElement(value ? "span" : "b")).textContent = name;
      if (value) line.appendChild(document.createElement("span")).textContent = value;
    }
    const left = x + 14 + tip.offsetWidth > stage.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.transform = "translate(" + Math.max(2, left) + "px, 12px)";
  }

  function announce() {
    showReading();
    spoken.textContent = facts(reading).map((pair) => pair.join(" ")).join(", ");
  }

  function read(px) {
    reading = px < GUTTER || px > stage.clientWidth - RIGHT ? null : inside(stepAt(px));
    showReading();
  }

  const acts = {
    in: () => zoom(0.5, reading === null ? (view.from + view.to) / 2 : reading),
    out: () => zoom(2, reading === null ? (view.from + view.to) / 2 : reading),
    left: () => pan(-(view.to - view.from) / 3),
    right: () => pan((view.to - view.from) / 3),
    alarm: () => nextAlarm(false),
    reset: whole,
  };
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", acts[button.dataset.act]);
    if (button.dataset.act === "alarm") button.disabled = !stream.onsets.length;
  }

  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = (direction) => {
      const stride = Math.max(per, Math.round((view.to - view.from) / room()));
      const at = reading === null ? Math.floor((view.from + view.to) / 2) : reading + direction * stride;
      reading = inside(at);
      if (reading < view.from || reading >= view.to) pan(direction * (view.to - view.from) / 2);
      announce();
    };
    const keys = {
      ArrowLeft: () => (event.shiftKey ? acts.left() : move(-1)),
      ArrowRight: () => (event.shiftKey ? acts.right() : move(1)),
      "+": acts.in, "=": acts.in, "-": acts.out, 0: whole, Escape: whole,
      Home: () => look(0, view.to - view.from), End: () => look(steps - (view.to - view.from), steps),
      n: () => nextAlarm(false), p: () => nextAlarm(true),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  function capture(element, pointer) {
    try {
      element.setPointerCapture(pointer);
    } catch (error) {
      return; // the pointer is gone already; a drag still works while it stays inside
    }
  }

  document.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" || charts.some((chart) => chart.contains(event.target))) return;
    reading = null;
    showReading();
  });

  let scrolled = -1e9;
  window.addEventListener("scroll", () => (scrolled = performance.now()), { passive: true });
  const fingers = new Map();
  let drag = null;

  charts.forEach((chart, index) => {
    const local = (event) => event.clientX - chart.getBoundingClientRect().left;
    chart.addEventListener("wheel", (event) => {
      // A page that is being scrolled past the chart goes on scrolling, and so does one that has no further out to go.
      if (event.ctrlKey === false && performance.now() - scrolled < 250) return;
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
      const all = view.to - view.from >= steps;
      if (all && (sideways || event.deltaY > 0)) return;
      event.preventDefault();
      if (sideways) pan(((event.deltaX || event.deltaY) * unit / room()) * (view.to - view.from));
      else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.0022))), Math.max(view.from, Math.min(view.to, stepAt(local(event)))));
    }, { passive: false });

    chart.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      fingers.set(event.pointerId, local(event));
      capture(chart, event.pointerId);
      const touch = event.pointerType === "touch";
      drag = { kind: touch || event.shiftKey ? "pan" : "select", from: local(event), moved: false };
      if (fingers.size === 2) drag = { kind: "pinch", moved: true };
      else if (touch) read(local(event));
    });
    chart.addEventListener("pointermove", (event) => {
      const x = local(event);
      const before = fingers.get(event.pointerId);
      if (before === undefined || !drag) return read(x);
      if (drag.kind === "pinch" && fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const apart = Math.max(12, Math.abs(before - other)) / Math.max(12, Math.abs(x - other));
        zoom(apart, stepAt((x + other) / 2));
      } else if (drag.kind === "pan") {
        pan(-((x - before) / room()) * (view.to - view.from));
      } else if (drag.kind === "select") {
        drag.moved = drag.moved || Math.abs(x - drag.from) > 4;
        select(drag.from, x, drag.moved);
      }
      fingers.set(event.pointerId, x);
      if (drag.kind !== "pinch") read(x);
    });
    const done = (event) => {
      if (!fingers.delete(event.pointerId) || !drag) return;
      if (drag.kind === "select" && drag.moved && event.type === "pointerup") {
        const ends = [stepAt(drag.from), stepAt(local(event))].sort((a, b) => a - b);
        look(Math.max(0, ends[0]), Math.min(steps, ends[1]));
      }
      select(0, 0, false);
      drag = fingers.size ? { kind: "pan", moved: true } : null;
    };
    chart.addEventListener("pointerup", done);
    chart.addEventListener("pointercancel", done);
    chart.addEventListener("pointerleave", (event) => {
      if (fingers.size || event.pointerType === "touch") return;
      reading = null;
      showReading();
    });
    chart.addEventListener("dblclick", whole);
    if (index) chart.style.cursor = "crosshair";
  });

  function select(a, b, shown) {
    const edge = (px) => Math.max(GUTTER, Math.min(stage.clientWidth - RIGHT, px));
    for (const box of brush) {
      box.style.display = shown ? "block" : "none";
      box.style.transform = "translateX(" + Math.min(edge(a), edge(b)) + "px)";
      box.style.width = Math.abs(edge(a) - edge(b)) + "px";
    }
  }

  // The strip: drag the window or its ends, or press anywhere to go there.
  let grip = null;
  const onStrip = (event) => {
    const box = overview.getBoundingClientRect();
    return ((event.clientX - box.left - GUTTER) / Math.max(1, box.width - GUTTER - RIGHT)) * steps;
  };
  overview.addEventListener("pointerdown", (event) => {
    const at = onStrip(event), near = (12 / Math.max(1, overview.clientWidth - GUTTER)) * steps;
    if (Math.abs(at - view.from) < near) grip = "from";
    else if (Math.abs(at - view.to) < near) grip = "to";
    else {
      grip = "all";
      if (at < view.from || at > view.to) pan(at - (view.from + view.to) / 2);
    }
    grip = { kind: grip, at };
    capture(overview, event.pointerId);
  });
  overview.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = onStrip(event);
    if (grip.kind === "from") look(Math.max(0, Math.min(at, view.to - least)), view.to);
    else if (grip.kind === "to") look(view.from, Math.min(steps, Math.max(at, view.from + least)));
    else pan(at - grip.at);
    grip.at = at;
  });
  for (const type of ["pointerup", "pointercancel"]) overview.addEventListener(type, () => (grip = null));
  overview.addEventListener("dblclick", whole);

  const all = () => {
    ink = palette();
    fullDirty = true;
    tell();
    refresh();
  };
  new ResizeObserver(all).observe(stage);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  tell();
  redraw();
  root.dataset.ready = "1";
}

try {
  start();
} catch (error) {
  // The static figures say the same; show them rather than half a page.
  root.classList.remove("scripted");
  root.dataset.error = String(error);
}
