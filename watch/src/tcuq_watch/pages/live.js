// The page: what moves with the stream, what the buttons and keys do, and when it is drawn.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);
// Nothing came for a while: the page says for how long, in place of "live".
const QUIET = 10; // seconds
function howLong(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]], [size, name] = units.find((unit) => seconds >= unit[0]) || units[3];
  return Math.floor(seconds / size) + " " + name;
}
function stateOf(state, device, detail) {
  if (state !== "here") return state;
  if (device && device.kind === "lost") return "lost";
  return detail.paused ? "paused" : detail.steps && detail.quiet >= QUIET ? "quiet" : "here";
}
function tellState(state, device, detail) {
  const words = {
    quiet: "no step for " + howLong(detail.quiet),
    opening: "connecting\u2026", away: "connection lost, trying again\u2026", ended: "the program has ended",
    locked: "the token is no longer valid: open the new link", lost: "device lost, waiting for it", paused: "paused", here: "live",
  };
  const shown = stateOf(state, device, detail);
  root.dataset.state = shown;
  put("#state", shown === "here" && !detail.steps ? "connected, no step yet" : words[shown]);
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
  let acted = true, ink = palette(), frame = 0, drawn = -1e9, told = -1e9, px = null, pinned = null;
  const rateOf = makeRate();
  let came = Date.now(); // when the last step did

  // A picture that is paused keeps its scale, whatever comes in behind it.
  const view = makeFollowing(stream, () => {
    if (view.arriving && !view.following) return;
    stream.top = stream.reach;
    if (view.arriving) return;
    acted = true;
    soon();
  });
  const reading = makeReading(stream, view, stage, rows, spoken);
  stream.axis = LIVE_AXIS;
  stream.ticks = liveTicks(stream);
  stream.over = drawBreaks(stream);
  stream.lanes = [{ name: "events", draw: drawRemarkLane(stream) }, { name: "marked", draw: drawMarkLane(stream) }];
  stream.more = moreFacts(stream, (i) => {
    const reach = (7 / page.room()) * view.span();
    return stream.remarks.filter((remark) => Math.abs(stream.placeOf(remark.step) - i - 0.5) <= Math.max(0.5, reach)).slice(-4);
  });
  const page = { stream, stage, view, reading, inside, scrolled: -1e9, listening: document };
  page.room = () => Math.max(1, stage.clientWidth - GUTTER - RIGHT);
  page.stepAt = (at) => view.from + ((at - GUTTER) / page.room()) * view.span();
  page.read = (at) => {
    px = at < GUTTER || at > stage.clientWidth - RIGHT ? null : at;
    soon();
  };
  page.press = (at) => {
    if (at < GUTTER || at > stage.clientWidth - RIGHT || !stream.steps) return;
    const i = inside(page.stepAt(at));
    pinned = pinned === i ? null : i;
    acted = true;
    soon();
  };
  // Keys of the report move the reading by themselves; the pointer's place gives way to them.
  reading.clear = () => {
    px = null;
    acted = true;
    soon();
  };
  const announce = reading.announce;
  reading.announce = () => {
    px = null;
    pinned = reading.step;
    announce();
    acted = true;
    soon();
  };
  const selected = () => (reading.step !== null ? reading.step : inside(view.following ? stream.steps - 1 : Math.ceil(view.to) - 1));

  function tellRange() {
    const first = inside(view.from), last = inside(Math.ceil(view.to) - 1);
    const behind = stream.steps - 1 - last, lag = behind > 0 ? ", " + number(behind) + " newer" : "";
    put("#range", "Steps " + number(stream.number(first)) + "\u2013" + number(stream.number(last)) + lag);
    root.dataset.from = stream.number(first);
    root.dataset.to = stream.number(last);
  }

  function drawStrip(now) {
    drawn = now;
    drawOverview(strip, stream, ink);
    const width = overview.clientWidth - GUTTER - RIGHT, pane = find(".window", overview);
    pane.style.left = GUTTER + (view.from / view.steps) * width + "px";
    pane.style.width = Math.max(4, (view.span() / view.steps) * width) + "px";
  }

  function tellPanel(now) {
    told = now;
    const i = selected(), last = i === stream.steps - 1;
    const words = "step " + number(stream.number(i)) + ", " + clock(stream.time[i]);
    tellAnswer(stream, i, (last ? "Last " : reading.step !== null ? "Selected " : "Shown ") + words);
    tellReason(stream, i);
    tellCounts(stream, about, rate);
    const raised = stream.flags[stream.steps - 1] & (BIT.rise | BIT.fall);
    find("#alarm").dataset.raised = raised ? "1" : "0";
    let from = stream.steps - 1;
    while (raised && from > 0 && stream.flags[from - 1] & (BIT.rise | BIT.fall)) from--;
    put("#alarm-word", raised ? "Alarm since step " + number(stream.number(from)) + ", " + clock(stream.time[from]) : "No alarm");
  }

  function draw(now) {
    frame = 0;
    tellState(state, device, { paused: !view.following, steps: stream.steps, quiet: (Date.now() - came) / 1000 });
    find("#waiting").hidden = stream.steps > 0;
    const pause = find('[data-act="pause"]');
    pause.setAttribute("aria-pressed", String(!view.following));
    put("#pause-word", view.following ? "Pause" : "Back to live");
    listRemarks();
    if (!stream.steps) {
      tellCounts(stream, about, rate);
      return;
    }
    reading.step = px !== null ? inside(page.stepAt(px)) : pinned;
    stage.classList.toggle("pinned", px === null);
    rows[1].part.hidden = !Number.isFinite(stream.accuracy[stream.steps - 1]);
    const shown = rows.filter((r) => !r.part.hidden);
    rows.forEach((r) => r.part.classList.toggle("last", r === shown[shown.length - 1]));
    drawTimeline(canvas, stream, view, ink);
    shown.forEach((r) => drawSignal(r.canvas, r.row, stream, view, false, ink));
    reading.show();
    // The strip moves slowly and nobody reads twenty numbers a second: both are told less often.
    const asked = acted || px !== null;
    if (asked || now - drawn > 400) drawStrip(now);
    if (asked || now - told > (calm.matches ? 950 : 180)) {
      tellPanel(now);
      tellRange();
    } else later();
    acted = false;
    if (!root.dataset.ready) root.dataset.ready = String(Math.round(performance.now())); // ms to the first picture
    root.dataset.frames = Number(root.dataset.frames || 0) + 1;
  }
  // The panel is told of the newest step also when no other comes after it.
  let due = 0;
  function later() {
    clearTimeout(due);
    due = setTimeout(soon, calm.matches ? 1000 : 250);
  }
  function soon() {
    if (!frame) frame = requestAnimationFrame(draw);
  }
  let waiting = 0;
  function arrived() {
    if (!calm.matches || !root.dataset.ready) soon();
    else if (!waiting) {
      waiting = setTimeout(() => {
        waiting = 0;
        soon();
      }, 1000);
    }
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
  const acts = {
    pause: () => {
      view.following = !view.following;
      if (view.following) pinned = null;
      view.moved(0, rate);
      acted = true;
      soon();
    },
    live: () => {
      pinned = null;
      acted = true;
      if (!view.following) acts.pause();
      soon();
    },
    in: () => view.zoom(0.5, reading.or(view.middle())),
    out: () => view.zoom(2, reading.or(view.middle())),
    left: () => view.pan(-view.span() / 3),
    right: () => view.pan(view.span() / 3),
    alarm: () => page.nextAlarm(false),
    whole: () => view.whole(),
    csv: () => {
      if (!stream.steps) return;
      const from = inside(view.from), to = inside(Math.ceil(view.to) - 1) + 1;
      save(new Blob([csvOf(stream, from, to)], { type: "text/csv" }), fileName(about.title, stream, from, to, "csv"));
    },
    png: () => {
      if (!stream.steps) return;
      const from = inside(view.from), to = inside(Math.ceil(view.to) - 1) + 1;
      const charts = [{ canvas }, ...rows.filter((r) => !r.part.hidden).map((r) => ({ canvas: r.canvas, title: find("b", r.part).textContent }))];
      const name = fileName(about.title, stream, from, to, "png");
      pictureOf(charts, (about.title || "tcuq") + ": " + find("#range").textContent, (blob) => save(blob, name));
    },
    wrong: () => about.marks && stream.steps && wrong(selected()),
  };
  page.keys = {
    " ": acts.pause, l: acts.live, w: acts.wrong, c: acts.csv, s: acts.png, 0: acts.whole,
    Escape: acts.live,
    Home: () => view.goTo(0, view.span()), End: acts.live,
  };
  page.leaves = (event, name) => {
    const target = event.target, typed = target.closest && target.closest("input, dialog, select, textarea");
    const pressed = name === " " && target.closest && target.closest("button, summary, a");
    const moves = name.length > 1 && name !== "Escape" && !stage.contains(target);
    return !stream.steps || Boolean(typed || pressed || moves || (event.repeat && name === " "));
  };
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", acts[button.dataset.act]);
  }
  onKeys(page, acts);
  // A range that was drawn with the mouse, or the strip, is a look at the past.
  const looking = { ...page, view: Object.create(view, { look: { value: view.goTo } }) };
  onPointers(looking, [stage, ...rows.map((r) => r.chart)]);
  onStrip(looking.view, overview);
  window.addEventListener("scroll", () => (page.scrolled = looking.scrolled = performance.now()), { passive: true });
  const afresh = () => {
    ink = palette();
    drawn = -1e9;
    soon();
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
      const judged = about.decided_by === "device" ? "decided on the device" : "decided on this computer";
      put("#source", [about.source, about.decided_by ? judged : "", about.params ? "parameters " + about.params : ""].filter(Boolean).join(" \u00b7 "));
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
      first = first && !part.count;
      stream.totals = part.totals;
      stream.addRemarks(part.remarks);
      const changed = part.remarks.findLast((remark) => remark.kind === "lost" || remark.kind === "connected");
      if (changed) device = changed;
      rate = rateOf(part.totals.steps);
      if (stream.steps) view.moved(gone, rate || spanRate(stream));
      arrived();
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
