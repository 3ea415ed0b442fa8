// The page: what moves with the stream, what the buttons and keys do, and when it is drawn.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);
const QUIET = 10; // seconds without a step after which the page says so, in place of "live"

function howLong(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, name] = units.find((unit) => seconds >= unit[0]) || units[3];
  return Math.floor(seconds / size) + " " + name;
}

function tellState(state, { device, paused, steps, quiet }) {
  const away = device && device.kind === "lost", here = paused ? "paused" : quiet >= QUIET ? "quiet" : "here";
  const shown = state === "here" ? (away ? "lost" : here) : state;
  const words = {
    opening: "connecting\u2026", away: "connection lost, trying again\u2026", ended: "the program has ended",
    locked: "the token is no longer valid: open the new link", lost: "device lost, waiting for it", paused: "paused",
    here: steps ? "live" : "connected, no step yet", quiet: steps ? "no step for " + howLong(quiet) : "connected, no step yet",
  };
  root.dataset.state = shown;
  put("#state", words[shown]);
}

function start() {
  const meanings = JSON.parse(find("#meanings").textContent);
  const stream = makeSteps(), stage = find("#stage"), overview = find("#overview"), spoken = find("#spoken");
  stream.meaning = (name) => (Object.hasOwn(meanings, name) ? meanings[name] : "");
  const canvas = find("canvas", stage), strip = find("canvas", overview);
  const rows = stream.rows.map((row) => {
    const part = find('[data-signal="' + row.name + '"]');
    return { row, part, chart: find(".chart", part), canvas: find("canvas", part), output: find("output", part) };
  });
  const inside = (step) => Math.max(0, Math.min(stream.steps - 1, Math.floor(step)));
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let about = {}, columns = [], device = null, state = "opening", replace = false, first = true, rate = null;
  let acted = true, ink = palette(), frame = 0, told = -1e9, due = 0, px = null, pinned = null;
  let came = Date.now(); // when the last step did
  const rateOf = makeRate();

  function soon() {
    if (!frame) frame = requestAnimationFrame(draw);
  }
  function redraw() {
    acted = true;
    soon();
  }
  function later() {
    if (!due) due = setTimeout(soon, calm.matches ? 1000 : 250);
  }

  // A picture that is paused keeps its scale, whatever comes in behind it.
  const view = makeFollowing(stream, () => {
    if (view.arriving && !view.following) return;
    stream.top = stream.reach;
    if (!view.arriving) redraw();
  });
  const reading = makeReading(stream, view, stage, rows, spoken);
  const page = { stream, stage, view, reading, inside, scrolled: -1e9, listening: document };
  page.room = () => Math.max(1, stage.clientWidth - GUTTER - RIGHT);
  page.stepAt = (at) => view.from + ((at - GUTTER) / page.room()) * view.span();
  const outside = (at) => at < GUTTER || at > stage.clientWidth - RIGHT;
  page.read = (at) => {
    px = outside(at) ? null : at;
    soon();
  };
  page.press = (at) => {
    if (outside(at) || !stream.steps) return;
    const i = inside(page.stepAt(at));
    pinned = pinned === i ? null : i;
    redraw();
  };
  Object.assign(stream, {
    axis: LIVE_AXIS, ticks: liveTicks(stream), over: drawBreaks(stream),
    lanes: [{ name: "events", draw: drawRemarkLane(stream) }, { name: "marked", draw: drawMarkLane(stream) }],
    more: moreFacts(stream, (i) => {
      const reach = Math.max(0.5, (7 / page.room()) * view.span());
      return stream.remarks.filter((remark) => Math.abs(stream.placeOf(remark.step) - i - 0.5) <= reach).slice(-4);
    }),
  });
  // Keys of the report move the reading by themselves; the pointer's place gives way to them.
  reading.clear = () => {
    px = null;
    redraw();
  };
  const announce = reading.announce;
  reading.announce = () => {
    pinned = reading.step;
    announce();
    reading.clear();
  };
  const lastShown = () => inside(Math.ceil(view.to) - 1);
  const selected = () => (reading.step !== null ? reading.step : view.following ? inside(stream.steps - 1) : lastShown());

  function tellRange() {
    const from = stream.number(inside(view.from)), to = stream.number(lastShown());
    const behind = stream.steps - 1 - lastShown(), lag = behind > 0 ? ", " + number(behind) + " newer" : "";
    put("#range", "Steps " + number(from) + "\u2013" + number(to) + lag);
    Object.assign(root.dataset, { from, to });
  }

  function drawStrip() {
    drawOverview(strip, stream, ink);
    const width = overview.clientWidth - GUTTER - RIGHT, pane = find(".window", overview);
    pane.style.left = GUTTER + (view.from / view.steps) * width + "px";
    pane.style.width = Math.max(4, (view.span() / view.steps) * width) + "px";
  }

  function tellPanel() {
    const i = selected(), last = stream.steps - 1, raised = (k) => stream.flags[k] & (BIT.rise | BIT.fall);
    const which = i === last ? "Last " : reading.step !== null ? "Selected " : "Shown ";
    const when = (k) => "step " + number(stream.number(k)) + ", " + clock(stream.time[k]);
    tellAnswer(stream, i, which + when(i));
    tellReason(stream, i);
    tellCounts(stream, about, rate);
    let from = last;
    while (raised(last) && from > 0 && raised(from - 1)) from--;
    find("#alarm").dataset.raised = raised(last) ? "1" : "0";
    put("#alarm-word", raised(last) ? "Alarm since " + when(from) : "No alarm");
  }

  function draw(now) {
    frame = 0;
    tellState(state, { device, paused: !view.following, steps: stream.steps, quiet: (Date.now() - came) / 1000 });
    find("#waiting").hidden = stream.steps > 0;
    find('[data-act="pause"]').setAttribute("aria-pressed", String(!view.following));
    put("#pause-word", view.following ? "Pause" : "Back to live");
    listRemarks();
    if (!stream.steps) return tellCounts(stream, about, rate);
    reading.step = px !== null ? inside(page.stepAt(px)) : pinned;
    stage.classList.toggle("pinned", px === null);
    rows[1].part.hidden = !Number.isFinite(stream.accuracy[stream.steps - 1]);
    const shown = rows.filter((r) => !r.part.hidden);
    rows.forEach((r) => r.part.classList.toggle("last", r === shown[shown.length - 1]));
    drawTimeline(canvas, stream, view, ink);
    shown.forEach((r) => drawSignal(r.canvas, r.row, stream, view, false, ink));
    reading.show();
    // The strip moves slowly and nobody reads twenty numbers a second: both are told less often, the last for sure.
    if (acted || px !== null || now - told > (calm.matches ? 950 : 240)) {
      told = now;
      clearTimeout(due);
      due = 0;
      drawStrip();
      tellPanel();
      tellRange();
    } else later();
    acted = false;
    root.dataset.ready = root.dataset.ready || String(Math.round(performance.now())); // ms to the first picture
    root.dataset.frames = Number(root.dataset.frames || 0) + 1;
  }

  function goToStep(step) {
    const at = stream.placeOf(step);
    if (at < 0) {
      spoken.textContent = "That step is no longer held by this page.";
      return;
    }
    const half = Math.min(view.span(), 1000) / 2;
    pinned = inside(at);
    view.goTo(at - half, at + half);
    stage.focus({ preventScroll: true });
    stage.scrollIntoView({ block: "nearest" });
  }
  const listRemarks = makeRemarkList(find("#remarks"), find("#saved"), stream, goToStep);
  page.nextAlarm = (back) => {
    const found = nextOnset(stream, reading.or(back ? stream.steps : -1), back);
    if (found < 0) spoken.textContent = back ? "No alarm before." : "No alarm after.";
    else goToStep(stream.number(found));
  };

  let toast = 0;
  const wrong = makeWrong(stream, () => about, (step, label, text) => {
    put("#marked", text || "Step " + number(step) + " marked wrong.");
    clearTimeout(toast);
    toast = setTimeout(() => put("#marked", ""), 12000);
    soon();
  });
  const saved = (ending, make) => () => {
    if (!stream.steps) return;
    const from = inside(view.from), to = lastShown() + 1, name = fileName(about.title, stream, from, to, ending);
    make(from, to, (blob) => save(blob, name));
  };
  const acts = {
    pause: () => {
      view.following = !view.following;
      if (view.following) pinned = null;
      view.moved(0, rate);
      redraw();
    },
    live: () => {
      pinned = null;
      if (!view.following) acts.pause();
      redraw();
    },
    in: () => view.zoom(0.5, reading.or(view.middle())),
    out: () => view.zoom(2, reading.or(view.middle())),
    left: () => view.pan(-view.span() / 3),
    right: () => view.pan(view.span() / 3),
    alarm: () => page.nextAlarm(false),
    whole: () => view.whole(),
    csv: saved("csv", (from, to, done) => done(new Blob([csvOf(stream, from, to)], { type: "text/csv" }))),
    png: saved("png", (from, to, done) => {
      const more = rows.filter((r) => !r.part.hidden).map((r) => ({ canvas: r.canvas, title: find("b", r.part).textContent }));
      pictureOf([{ canvas }, ...more], (about.title || "tcuq") + ": " + find("#range").textContent, done);
    }),
    wrong: () => about.marks && stream.steps && wrong(selected()),
  };
  page.keys = {
    " ": acts.pause, l: acts.live, w: acts.wrong, c: acts.csv, s: acts.png, 0: acts.whole,
    Escape: acts.live, Home: () => view.goTo(0, view.span()), End: acts.live,
  };
  page.leaves = (event, name) => {
    const target = event.target, typed = target.closest && target.closest("input, dialog, select, textarea");
    const pressed = name === " " && target.closest && target.closest("button, summary, a");
    const moves = name.length > 1 && name !== "Escape" && !stage.contains(target);
    return !stream.steps || Boolean(typed || pressed || moves || (event.repeat && name === " "));
  };
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", acts[button.dataset.act]);
  onKeys(page, acts);
  // A range that was drawn with the mouse, or the strip, is a look at the past.
  const looking = { ...page, view: Object.create(view, { look: { value: view.goTo } }) };
  onPointers(looking, [stage, ...rows.map((r) => r.chart)]);
  onStrip(looking.view, overview);
  window.addEventListener("scroll", () => (page.scrolled = looking.scrolled = performance.now()), { passive: true });
  const afresh = () => {
    ink = palette();
    redraw();
  };
  new ResizeObserver(afresh).observe(stage);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", afresh);

  connect({
    state: (now) => {
      state = now;
      soon();
    },
    hello: (said) => {
      about = { ...said.about, marks: said.marks };
      columns = said.columns;
      device = said.device;
      stream.names = about.names || [];
      stream.band = about.band;
      replace = first = !said.known;
      document.title = (about.title || "Live") + " \u2013 tcuq";
      put("#title", about.title || "Live");
      const judged = { device: "decided on the device", host: "decided on this computer" }[about.decided_by];
      put("#source", [about.source, judged, about.params && "parameters " + about.params].filter(Boolean).join(" \u00b7 "));
      find('[data-act="wrong"]').hidden = !about.marks;
    },
    part: (part) => {
      if (replace && part.count) {
        stream.cutFrom(part.runs[0][0]);
        replace = false;
      }
      const gone = stream.append(part, columns);
      if (pinned !== null) pinned = pinned >= gone && pinned - gone < stream.steps ? pinned - gone : null;
      // What was there before this page was opened came when the server says; after that its own clock counts.
      if (part.count) came = first ? Math.min(Date.now(), stream.time[stream.steps - 1] * 1000) : Date.now();
      first = false;
      stream.totals = part.totals;
      stream.addRemarks(part.remarks);
      device = part.remarks.findLast((remark) => remark.kind === "lost" || remark.kind === "connected") || device;
      rate = rateOf(part.totals.steps);
      if (stream.steps) view.moved(gone, rate || spanRate(stream));
      if (calm.matches && root.dataset.ready) later();
      else soon();
    },
  });
  setInterval(() => {
    if (state === "here") rate = rateOf(stream.totals.steps);
    tellCounts(stream, about, rate);
    soon();
  }, 1000);
  soon();
}

try {
  start();
} catch (error) {
  root.dataset.error = String(error);
  find("#waiting").textContent = "This page could not start: " + error;
}
