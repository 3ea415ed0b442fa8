// The page: what moves with the stream, what the buttons and keys do, and when it is drawn.

const root = document.documentElement;
const find = (query, from) => (from || document).querySelector(query);
const LIVE_AXIS = 38; // px: numbers of steps and, below, the time of day
const SECONDS_SHOWN = 60;

// Ticks at round numbers of steps, each with its time of day.
function liveTicks(stream) {
  return (pen, view, width, y, _, ink) => {
    const x = scaleX(view, width);
    const step = Math.max(1, niceStep((view.to - view.from) / Math.max(2, (width - GUTTER) / 120)));
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    let free = -Infinity;
    stream.segments.forEach((segment, k) => {
      const end = k + 1 < stream.segments.length ? stream.segments[k + 1].at : stream.steps;
      const from = Math.max(segment.at, Math.ceil(view.from)), to = Math.min(end, view.to);
      for (let t = Math.ceil(stream.number(from) / step) * step; from < to; t += step) {
        const place = segment.at + t - segment.number;
        if (place >= to) break;
        const at = Math.round(x(place)) + 0.5, text = number(t), half = Math.max(30, pen.measureText(text).width / 2);
        if (at - half < free || at + half > width) continue;
        free = at + half + 8;
        pen.beginPath();
        pen.moveTo(at, y);
        pen.lineTo(at, y + 4);
        pen.stroke();
        pen.fillStyle = ink.muted;
        pen.fillText(text, at, y + 6);
        pen.globalAlpha = 0.75;
        pen.fillText(clock(stream.time[place]), at, y + 20);
        pen.globalAlpha = 1;
      }
    });
  };
}

// What is read under the cursor beside what the report tells.
function moreFacts(stream, near) {
  return (i) => {
    const out = [["persistence", real(stream.persistence[i] / 255)], ["variety", real(stream.variety[i])]];
    out.push(["severity", real(stream.severity[i])], ["uncertainty", real(stream.uncertainty[i])]);
    if (Number.isFinite(stream.accuracy[i])) out.push(["accuracy", share(stream.accuracy[i], 255) + " expected"]);
    out.push(["time", clock(stream.time[i])]);
    if (stream.marked[i]) out.push(["marked", "wrong"]);
    for (const remark of near(i)) out.push([signOf(remark.kind)[2].toLowerCase(), remark.text || "\u2013"]);
    return out;
  };
}

// The view follows the end until someone looks back, zooms into the past or pauses.
function makeFollowing(stream, changed) {
  const view = makeView(stream, changed);
  const { look, zoom, pan } = view;
  Object.assign(view, { following: true, wanted: 0, anew: true });
  const keep = () => (view.wanted = view.span() >= view.steps ? Infinity : view.span());

  view.look = (from, to) => {
    look(from, to);
    keep();
  };
  view.zoom = (factor, around) => {
    view.anew = false;
    zoom(factor, view.following ? view.to : around);
  };
  view.pan = (distance) => {
    pan(distance);
    if (distance < 0) view.following = false;
    else if (view.to >= view.steps) view.following = true;
    changed();
  };
  view.goTo = (from, to) => {
    view.following = view.anew = false;
    view.look(from, to);
  };
  view.whole = () => {
    view.anew = false;
    view.look(0, view.steps);
  };
  // New steps came, and so many of the oldest went.
  view.moved = (gone, rate) => {
    if (view.anew) view.wanted = Math.max(300, Math.min(20000, Math.round((rate || 0) * SECONDS_SHOWN)));
    if (view.following) look(view.steps - Math.min(view.wanted, view.steps), view.steps);
    else look(view.from - gone, view.to - gone);
  };
  return view;
}

function tellState(state, device, detail) {
  const words = {
    opening: "connecting\u2026", away: "connection lost, trying again\u2026", ended: "the program has ended",
    lost: "device lost, waiting for it", paused: "paused", here: "live",
  };
  const shown = state !== "here" ? state : device && device.kind === "lost" ? "lost" : detail.paused ? "paused" : "here";
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
  let about = {}, columns = [], device = null, state = "opening", replace = false, rate = null;
  let ink = palette(), frame = 0, drawn = -1e9, told = -1e9, px = null, pinned = null;
  const rateOf = makeRate();

  const view = makeFollowing(stream, () => soon());
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
    soon();
  };
  // Keys of the report move the reading by themselves; the pointer's place gives way to them.
  reading.clear = () => {
    px = null;
    soon();
  };
  const announce = reading.announce;
  reading.announce = () => {
    px = null;
    pinned = reading.step;
    announce();
    soon();
  };
  const selected = () => (reading.step !== null ? reading.step : inside(view.following ? stream.steps - 1 : Math.ceil(view.to) - 1));

  function tellRange() {
    const width = overview.clientWidth - GUTTER - RIGHT, pane = find(".window", overview);
    pane.style.left = GUTTER + (view.from / view.steps) * width + "px";
    pane.style.width = Math.max(4, (view.span() / view.steps) * width) + "px";
    const first = inside(view.from), last = inside(Math.ceil(view.to) - 1);
    const behind = stream.steps - 1 - last, lag = behind > 0 ? ", " + number(behind) + " newer" : "";
    put("#range", "Steps " + number(stream.number(first)) + "\u2013" + number(stream.number(last)) + lag);
    root.dataset.from = stream.number(first);
    root.dataset.to = stream.number(last);
  }

  function tellPanel(now) {
    told = now;
    const i = selected(), last = i === stream.steps - 1;
    const words = "step " + number(stream.number(i)) + ", " + clock(stream.time[i]);
    tellAnswer(stream, i, (last ? "Last " : reading.step !== null ? "Selected " : "Shown ") + words);
    tellReason(stream, i);
    tellCounts(stream, about, rate);
    const raised = stream.flags[stream.steps - 1] & (BIT.rise | BIT.fall);
    const banner = find("#alarm");
    if (banner.hidden === Boolean(raised)) banner.hidden = !raised;
    if (raised) {
      let from = stream.steps - 1;
      while (from > 0 && stream.flags[from - 1] & (BIT.rise | BIT.fall)) from--;
      put("#alarm-since", "since step " + number(stream.number(from)) + ", " + clock(stream.time[from]));
    }
  }

  function draw(now) {
    frame = 0;
    tellState(state, device, { paused: !view.following, steps: stream.steps });
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
    // The strip below moves slowly; it need not be drawn each time.
    if (now - drawn > 400) {
      drawOverview(strip, stream, ink);
      drawn = now;
    }
    tellRange();
    reading.show();
    if (now - told > (calm.matches ? 950 : 180) || px !== null || !view.following) tellPanel(now);
    else later();
    if (!root.dataset.ready) root.dataset.ready = String(Math.round(performance.now())); // ms to the first picture
    root.dataset.frames = Number(root.dataset.frames || 0) + 1;
  }
  // The panel is told of the newest step also when no other comes after it.
  let due = 0;
  function later() {
    clearTimeout(due);
    due = setTimeout(soon, 250);
  }
  function soon() {
    if (!frame) frame = requestAnimationFrame(draw);
  }
  let waiting = 0;
  function arrived() {
    if (!calm.matches) soon();
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
      soon();
    },
    live: () => {
      if (!view.following) acts.pause();
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
    Escape: () => {
      pinned = null;
      acts.live();
      soon();
    },
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
      replace = !said.known;
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
      if (pinned !== null) pinned = pinned >= gone ? pinned - gone : null;
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
  }, 1000);
  soon();
}

// Steps a second by the clock of the last ones, before the page has seen enough itself.
function spanRate(stream) {
  const last = stream.steps - 1, first = Math.max(0, last - 500);
  const seconds = stream.time[last] - stream.time[first];
  return seconds > 0 ? (last - first) / seconds : null;
}

try {
  start();
} catch (error) {
  root.dataset.error = String(error);
  find("#waiting").textContent = "This page could not start: " + error;
}
