// The page: what is drawn and told of the steps, and what the buttons and keys do.

// Without a step for so many seconds, and so many usual pauses, nobody knows what to do.
const QUIET = 10, PAUSES = 5;
const WORDS = { act: "ACT", ask: "ASK", hold: "HOLD", none: "NO DATA" };
// Sign, color and title of what happened beside the steps.
const SIGNS = {
  lost: ["\u2715", "abstain", "Device lost"], connected: ["\u25cf", "muted", "Device connected"],
  broken: ["\u25b2", "abstain", "Not readable"], missing: ["\u25cb", "abstain", "Steps missing"],
  restart: ["\u25a0", "risk", "Program started"], reboot: ["\u25a0", "shift", "Device started again"],
  alarm: ["\u25b2", "rise", "Alarm"], cleared: ["\u25cb", "fall", "Alarm over"],
  mark: ["\u25c6", "wrong", "Marked wrong"], note: ["\u2022", "muted", "Note"],
};

const signOf = (kind) => (Object.hasOwn(SIGNS, kind) ? SIGNS[kind] : SIGNS.note);
const share = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) + " %" : "\u2013");
const real = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits) : "\u2013");
const nameOf = (stream, k) => (k < 0 ? "\u2013" : stream.names[k] || "class " + k);

function put(query, text) {
  const element = find(query);
  if (element.textContent !== text) element.textContent = text;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A clock that was never set may tell anything.
function clock(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "no time" : date.toLocaleTimeString("en-GB");
}

// Under the numbers of the steps, the time of day.
function drawTicks(stream) {
  return (pen, view, width, y, first, ink) => {
    timeTicks(pen, view, width, y, first, ink);
    const x = scaleX(view, width), step = Math.max(1, niceStep((view.to - view.from) / Math.max(2, (width - GUTTER) / 110)));
    pen.globalAlpha = 0.75;
    for (let i = Math.ceil((first + view.from) / step) * step - first; i < Math.min(stream.steps, view.to); i += step) {
      if (x(i) + 30 < width) pen.fillText(clock(stream.time[i]), x(i), y + 21);
    }
    pen.globalAlpha = 1;
  };
}

// Signs of what happened; those at one place stand side by side, as long as there is room.
function drawEvents(stream) {
  return (pen, view, x, from, to, ink) => {
    pen.font = "12px " + ink.font;
    pen.textAlign = "center";
    let free = -Infinity;
    for (const { kind, step } of stream.remarks) {
      const i = step - stream.first, px = x(i);
      if (i < view.from || i > view.to) continue;
      const [sign, color] = signOf(kind), place = free - px > 30 ? px : Math.max(px, free, GUTTER + 6);
      free = place + 12;
      pen.fillStyle = ink[color];
      pen.fillText(sign, Math.min(place, x(view.to) - 6), (from + to) / 2 + 1);
    }
  };
}

// The expected accuracy, with its band where there is one: then in whole percents, so that they fit a line.
function accuracyOf(stream, i) {
  const expected = stream.accuracy[i] / 255, low = stream.low[i], percent = (value) => (100 * value).toFixed(0);
  if (!Number.isFinite(low)) return Number.isFinite(expected) ? share(expected, 1) : "\u2013";
  return percent(expected) + " % (" + percent(low) + "\u2013" + percent(stream.high[i]) + ")";
}

// What to do stands first: that of the step, or of now, where there is none.
function tellAnswer(stream, i, decision, past, movers) {
  const flags = stream.flags[i], limit = stream.threshold[i], notes = [];
  put("#answer", nameOf(stream, stream.answer[i]));
  find("#now").dataset.decision = decision;
  find("#now").classList.toggle("past", past);
  put("#decision", WORDS[decision]);
  if (decision === "none") notes.push("The last step said " + WORDS[decisionOf(flags)] + ". Whether an alarm is on is unknown.");
  const moved = (movers || {})[stream.moved[i]];
  if (decision === "hold") notes.push("The alarm is on: do not act on this answer.");
  if (moved) notes.push(moved[0].toUpperCase() + moved.slice(1) + ".");
  if (stream.prediction[i] !== stream.answer[i]) {
    notes.push("At this step alone the model said \u201c" + nameOf(stream, stream.prediction[i]) + "\u201d.");
  }
  if (decision === "act" && flags & BIT.flagged) notes.push("Flagged, but the budget for asking is spent.");
  if (flags & BIT.warm) notes.push("Still warming up.");
  put("#notes", notes.join(" "));
  put("#risk", risk(stream.risk[i]));
  put("#threshold", limit === 65535 ? "1 or more" : limit === 0 ? "0 or less" : risk(limit));
  put("#persistence", real(stream.persistence[i] / 255));
  put("#accuracy", accuracyOf(stream, i));
  const gauge = find("#gauge"), across = (word) => (100 * Math.min(1, word / 65536 / stream.top)).toFixed(2) + "%";
  gauge.style.setProperty("--risk-at", across(stream.risk[i]));
  gauge.style.setProperty("--limit-at", across(limit));
}

// The signals of the step that is told; a step that is not flagged has none.
function tellReason(stream, i, names) {
  const values = stream.signals.get(stream.number(i)), list = find("#bars");
  const [name, meant] = stream.reasons[stream.reason[i]] || ["", ""];
  const flagged = stream.flags[i] & BIT.flagged, how = flagged ? " is flagged" : ": its risk is below the threshold";
  put("#reason", "Step " + number(stream.number(i)) + how + (flagged && name ? ": " + meant + "." : "."));
  // The list keeps its room, else the page would jump with every step.
  list.style.visibility = values ? "visible" : "hidden";
  if (!values) return;
  list.hidden = false;
  list.replaceChildren(...values.map((value, k) => {
    const filled = element("i");
    filled.style.width = Math.max(0, Math.min(1, value)) * 100 + "%";
    const bar = element("span", { className: "bar" }, filled), shown = element("output", {}, real(value, 2));
    const className = names[k] === name ? "chosen" : "", [, title] = stream.reasons.find(([known]) => known === names[k]);
    return element("li", { className, title }, element("b", {}, names[k]), bar, shown);
  }));
}

function tellCounts(stream, about) {
  const { steps = 0, flagged = 0, abstained = 0, alarms = 0 } = stream.counts, rate = stream.rate();
  const kinds = [["broken", "not readable"], ["missing", "missing"], ["lost", "device lost"], ["reboots", "reboots"]];
  const troubles = kinds.filter(([kind]) => stream.counts[kind]);
  const listed = troubles.map(([kind, text]) => number(stream.counts[kind]) + "\u00d7 " + text).join(", ");
  const tiles = [
    ["Steps", number(steps), rate === null ? "" : real(rate, rate < 9.95 ? 1 : 0) + " a second"],
    ["Flagged", share(flagged, steps), Number.isFinite(about.level) ? "aim " + share(about.level, 1) : ""],
    ["Ask, alarm or not", share(abstained, steps), Number.isFinite(about.budget) ? "limit " + share(about.budget, 1) : ""],
    ["Alarms", number(alarms), ""],
    ["Troubles", number(troubles.reduce((sum, [kind]) => sum + stream.counts[kind], 0)), listed || "all arrived"],
    ["Marked wrong", number(stream.remarks.filter(({ kind }) => kind === "mark").length), ""],
  ];
  find("#counts").replaceChildren(...tiles.map(([name, value, note]) => {
    const figures = element("dd", {}, element("b", {}, value), element("small", {}, note));
    return element("div", {}, element("dt", {}, name), figures);
  }));
}

function listRemarks(stream, goTo) {
  const list = find("#remarks");
  if (list.told === stream.remarks || !stream.remarks.length) return;
  list.told = stream.remarks;
  list.replaceChildren(...stream.remarks.slice(-60).reverse().map(({ kind, text, time, step }) => {
    const [shape, color, title] = signOf(kind), sign = element("i", {}, shape);
    sign.style.color = "var(--" + color + ")";
    const words = [element("b", {}, title), element("span", {}, text), element("time", {}, clock(time))];
    const button = element("button", { type: "button", title: "Step " + number(step) }, sign, ...words);
    button.addEventListener("click", () => goTo(step));
    return element("li", {}, button);
  }));
}

// The mark "this was wrong": asks for the true class, sends it, and shows what was written.
function makeWrong(stream, about, told) {
  const dialog = find("#wrong"), search = find("#search"), failed = find("#failed");
  let step = 0, options = [];

  async function send(label) {
    failed.textContent = "";
    const headers = { "Content-Type": "application/json", "X-Tcuq": "1" };
    try {
      const answer = await fetch("/mark", { method: "POST", headers, body: JSON.stringify({ step, label }) });
      const text = (await answer.text()).trim();
      if (!answer.ok) throw new Error(text);
      dialog.close();
      told(text);
    } catch (error) {
      const away = error instanceof TypeError ? "the server does not answer; nothing was written" : error.message;
      failed.textContent = "Not written: " + away;
    }
  }

  const all = () => Array.from({ length: about().classes || stream.names.length }, (_, k) => k);
  function fill() {
    const text = search.value.trim().toLowerCase();
    options = all().filter((k) => String(k) === text);
    if (!options.length) options = all().filter((k) => nameOf(stream, k).toLowerCase().includes(text));
    find("#classes").replaceChildren(...options.map((k) => {
      const button = element("button", { type: "button" }, element("kbd", {}, String(k)), nameOf(stream, k));
      button.addEventListener("click", () => send(k));
      return button;
    }));
  }

  search.addEventListener("input", fill);
  search.addEventListener("keydown", ({ key }) => key === "Enter" && search.value && options.length && send(options[0]));
  find("#unknown").addEventListener("click", () => send(null));
  find("#cancel").addEventListener("click", () => dialog.close());

  return (i) => {
    step = stream.number(i);
    failed.textContent = search.value = "";
    put("#asked", "Step " + number(step) + " answered \u201c" + nameOf(stream, stream.answer[i]) + "\u201d. What was it really?");
    fill();
    dialog.showModal();
    search.focus();
  };
}

function start() {
  const stream = makeSteps(JSON.parse(find("#reasons").textContent)), stage = find("#stage"), overview = find("#overview"), spoken = find("#spoken");
  const rows = signalRows(stream.rows);
  const raised = (i) => i >= 0 && Boolean(stream.flags[i] & (BIT.rise | BIT.fall));
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let about = {}, state = "opening", acted = true, ink = null, frame = 0, told = -1e9, due = 0;
  let px = null, pinned = null; // where the pointer reads, and the number of the step that was chosen
  let came = Date.now(), fresh = true, unknown = true; // the last step's arrival; whether none was told; or is known now

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

  const view = makeFollowing(stream, soon, redraw);
  const reading = makeReading(stream, view, stage, rows, spoken);
  const page = makePage(stream, view, reading, stage), { inside, acts } = page;
  page.listening = document;
  page.read = (at) => {
    px = page.outside(at) ? null : at;
    soon();
  };
  page.press = (at) => {
    if (page.outside(at) || !stream.steps) return;
    const chosen = stream.number(inside(page.stepAt(at)));
    pinned = pinned === chosen ? null : chosen;
    redraw();
  };
  Object.assign(stream, {
    axis: 38, ticks: drawTicks(stream),
    more: (i) => [["degradation", real(stream.degradation[i])], ["persistence", real(stream.persistence[i] / 255)], ["time", clock(stream.time[i])]],
    lanes: [{ name: "events", draw: drawEvents(stream) }],
  });
  // Keys of the report move the reading by themselves; the pointer's place gives way to them.
  reading.clear = () => {
    px = null;
    redraw();
  };
  const announce = reading.announce;
  reading.announce = () => {
    pinned = stream.number(reading.step);
    announce();
    reading.clear();
  };
  const lastShown = () => inside(Math.ceil(view.to) - 1);
  const selected = () => (reading.step !== null ? reading.step : lastShown());

  function tellState() {
    const device = stream.remarks.findLast(({ kind }) => kind === "lost" || kind === "connected");
    const quiet = Math.round((Date.now() - came) / 1000), none = "connected, no step yet";
    const span = quiet < 120 ? quiet + " s" : number(Math.floor(quiet / 60)) + " min";
    const late = !stream.steps || quiet >= Math.max(QUIET, PAUSES / (stream.rate() || 1));
    let shown = state;
    if (state === "here" && device && device.kind === "lost") shown = "lost";
    else if (state === "here") shown = late ? "quiet" : view.following ? "here" : "paused";
    unknown = shown !== "here" && shown !== "paused";
    const words = {
      opening: "connecting\u2026", away: "connection lost, trying again\u2026", ended: "the program has ended",
      locked: "the token is no longer valid: open the new link", lost: "device lost, waiting for it",
      paused: "paused", here: "live", quiet: stream.steps ? "no step for " + span : none,
    };
    root.dataset.state = shown;
    put("#state", words[shown]);
  }

  function tellPanel() {
    const i = selected(), last = stream.steps - 1;
    const which = i === last ? "Last " : reading.step !== null ? "Selected " : "Shown ";
    const when = (k) => "step " + number(stream.number(k)) + ", " + clock(stream.time[k]);
    put("#which", which + when(i));
    const past = i !== last;
    tellAnswer(stream, i, unknown && !past ? "none" : decisionOf(stream.flags[i]), past, about.moved);
    tellReason(stream, i, about.signals);
    tellCounts(stream, about);
    let since = last;
    while (raised(since - 1)) since--;
    if (unknown) delete find("#alarm").dataset.raised;
    else find("#alarm").dataset.raised = raised(last) ? "1" : "0";
    put("#alarm-word", unknown ? "Alarm unknown" : raised(last) ? "Alarm since " + when(since) : "No alarm");
  }

  function tellRange() {
    const from = stream.number(inside(view.from)), to = stream.number(lastShown()), behind = stream.steps - 1 - lastShown();
    put("#range", "Steps " + number(from) + "\u2013" + number(to) + (behind ? ", " + number(behind) + " newer" : ""));
    Object.assign(root.dataset, { from, to, held: stream.steps });
    drawOverview(find("canvas", overview), stream, ink);
    showWindow(view, overview);
  }

  function draw(now) {
    frame = 0;
    tellState();
    find("#waiting").hidden = stream.steps > 0;
    find('[data-act="wrong"]').hidden = !about.marks || !stream.steps;
    find('[data-act="pause"]').setAttribute("aria-pressed", String(!view.following));
    put("#pause-word", view.following ? "Pause" : "Back to live");
    listRemarks(stream, goToStep);
    if (!stream.steps) return tellCounts(stream, about);
    // A picture that is paused keeps its scale, whatever comes in behind it.
    if (view.following || acted) stream.top = stream.reach();
    if (acted) ink = palette();
    reading.step = px !== null ? inside(page.stepAt(px)) : stream.holds(pinned) && pinned !== null ? pinned - stream.first : null;
    stage.classList.toggle("pinned", px === null);
    rows[1].part.hidden = !Number.isFinite(stream.accuracy[stream.steps - 1]);
    drawTimeline(find("canvas", stage), stream, view, ink);
    rows.forEach((r) => r.part.hidden || drawSignal(r.canvas, r.row, stream, view, false, ink));
    reading.show();
    // The strip moves slowly and nobody reads twenty numbers a second: both are told less often, the last for sure.
    if (acted || px !== null || now - told > (calm.matches ? 950 : 240)) {
      told = now;
      clearTimeout(due);
      due = 0;
      tellPanel();
      tellRange();
    } else later();
    acted = false;
    root.dataset.ready = root.dataset.ready || String(Math.round(performance.now())); // ms to the first picture
    root.dataset.frames = Number(root.dataset.frames || 0) + 1;
  }

  function goToStep(step) {
    if (!stream.holds(step)) return;
    const half = Math.min(view.span(), 1000) / 2, at = step - stream.first;
    pinned = step;
    view.goTo(at - half, at + half);
    stage.focus({ preventScroll: true });
    stage.scrollIntoView({ block: "nearest" });
  }
  page.nextAlarm = (back) => {
    const step = back ? -1 : 1;
    let i = reading.or(back ? stream.steps : -1) + step;
    while (i >= 0 && i < stream.steps && !(raised(i) && !raised(i - 1))) i += step;
    goToStep(stream.number(i));
  };

  const wrong = makeWrong(stream, () => about, (text) => {
    put("#marked", text);
    setTimeout(() => put("#marked", ""), 12000);
  });
  Object.assign(acts, {
    pause: () => {
      view.following = !view.following;
      if (view.following) pinned = null;
      view.moved(0);
      redraw();
    },
    live: () => {
      view.following = false;
      acts.pause();
    },
    wrong: () => about.marks && stream.steps && wrong(selected()),
  });
  page.keys = {
    " ": acts.pause, l: acts.live, w: acts.wrong, Escape: acts.live, End: acts.live,
    Home: () => view.goTo(0, view.span()),
  };
  page.leaves = (event, name) => {
    const { target } = event, within = (query) => Boolean(target.closest && target.closest(query));
    const moves = name.length > 1 && name !== "Escape" && !stage.contains(target);
    return !stream.steps || moves || within("input, dialog") || (name === " " && (event.repeat || within("button")));
  };
  page.listen(overview, rows, redraw);

  connect({
    state: (now) => {
      state = now;
      soon();
    },
    hello: (said) => {
      about = said;
      state = "here";
      stream.names = about.names || [];
      document.title = (about.title || "Live") + " \u2013 tcuq";
      put("#title", about.title || "Live");
      const judged = { device: "decided on the device", host: "decided on this computer" }[about.decided_by];
      put("#source", [about.source, judged, about.params && "parameters " + about.params].filter(Boolean).join(" \u00b7 "));
    },
    part: (part) => {
      const before = stream.first;
      stream.append(part);
      // What was there before this page was opened came when the server says; after that its own clock counts.
      if (part.count) came = fresh ? Math.min(Date.now(), stream.time[stream.steps - 1] * 1000) : Date.now();
      fresh = false;
      if (stream.steps) view.moved(stream.first - before);
      (calm.matches && root.dataset.ready ? later : soon)();
    },
  });
  setInterval(soon, 1000);
  soon();
}

try {
  start();
} catch (error) {
  root.dataset.error = String(error);
  find("#waiting").textContent = "This page could not start: " + error;
}
