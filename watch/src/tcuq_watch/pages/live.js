// The page: what is drawn and told of the steps, and what the buttons and keys do.

// Without a step for so many seconds, and so many usual pauses, nobody knows what to do.
const QUIET = 10, PAUSES = 5;
const WORDS = { act: "ACT", ask: "ASK", hold: "HOLD", none: "NO DATA" };
const HELD = BIT.rise | BIT.fall, FLASH = 1000, ASKED = 60; // ms for which one step that asks is seen; s for which it may be answered
const ONE_HOLD = 120; // s; an alarm that comes back before is the same hold
// The icons of the tab: the same shapes as on the page, each a path in 32 by 32 and a color.
const ICONS = {
  act: ["M16 2a14 14 0 1 0 .1 0Z", "#0068a8"], ask: ["M16 0 32 16 16 32 0 16Z", "#e08214"],
  hold: ["M10 1h12l9 9v12l-9 9H10l-9-9V10ZM7 13h18v6H7Z", "#7a1f52"], none: ["M4 4h8v4H8v4H4ZM20 4h8v8h-4V8h-4ZM4 20h4v4h4v4H4ZM24 20h4v8h-8v-4h4Z", "#808a96"],
};

function iconOf(kind) {
  const canvas = Object.assign(element("canvas"), { width: 32, height: 32 }), pen = canvas.getContext("2d"), [path, color] = ICONS[kind];
  pen.fillStyle = color;
  pen.fill(new Path2D(path), "evenodd");
  return canvas.toDataURL();
}

// Sign, color and title of what happened beside the steps.
const SIGNS = {
  lost: ["\u2715", "abstain", "Device lost"], connected: ["\u25cf", "muted", "Device connected"],
  broken: ["\u25b2", "abstain", "Not readable"], missing: ["\u25cb", "abstain", "Steps missing"],
  restart: ["\u25a0", "risk", "Program started"], reboot: ["\u25a0", "shift", "Device started again"],
  alarm: ["\u25b2", "rise", "Alarm"], cleared: ["\u25cb", "fall", "Alarm over"],
  mark: ["\u25c6", "wrong", "Labeled"], note: ["\u2022", "muted", "Note"],
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

// A span in one unit, or two where the second tells something.
function spanOf(seconds) {
  const whole = Math.max(0, Math.round(seconds)), minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
  if (whole < 120) return whole + "\u00a0s";
  if (minutes < 120) return minutes + "\u00a0min";
  return hours < 48 ? hours + " h " + (minutes % 60) + " min" : Math.floor(hours / 24) + " days";
}

const sentence = (text) => text && text[0].toUpperCase() + text.slice(1) + (text.endsWith("\u2026") ? "" : ".");
const quoted = (text) => "\u201c" + text + "\u201d";
const whole = (value) => (100 * value).toFixed(0) + " %";

// Holds and losses, the newest last: an alarm that flickers is one hold.
function spansOf(remarks, time) {
  const spans = [], begins = { alarm: "hold", lost: "lost" }, ends = { cleared: "hold", connected: "lost" };
  for (const { kind, step, time: at, text } of remarks) {
    const when = time(step, at), before = spans.findLast((span) => span.kind === (begins[kind] || ends[kind]));
    if (begins[kind] && before && when - (before.end || when) < ONE_HOLD) Object.assign(before, { end: null, times: before.times + (before.end ? 1 : 0) });
    else if (begins[kind]) spans.push({ kind: begins[kind], from: when, step, end: null, times: 1, text });
    else if (ends[kind] && before && before.end === null) before.end = when;
    else if (kind === "missing") spans.push({ kind, from: when, step, end: when, times: 1, text });
  }
  return spans;
}

// A step as an expert reads it.
function tellStep(stream, i, about) {
  const flags = stream.flags[i], limit = stream.threshold[i], notes = [], moved = (about.moved || {})[stream.moved[i]];
  put("#said", WORDS[decisionOf(flags)]);
  put("#answer", nameOf(stream, stream.answer[i]));
  put("#risk", risk(stream.risk[i]));
  put("#threshold", limit === 65535 ? "1 or more" : limit === 0 ? "0 or less" : risk(limit));
  put("#persistence", real(stream.persistence[i] / 255));
  put("#accuracy", accuracyOf(stream, i));
  if (moved) notes.push(sentence(moved));
  if (stream.prediction[i] !== stream.answer[i]) notes.push("At this step alone the model said " + quoted(nameOf(stream, stream.prediction[i])) + ".");
  if (decisionOf(flags) === "act" && flags & BIT.flagged) notes.push("Flagged, but the budget for asking is spent.");
  if (flags & BIT.warm) notes.push("Still warming up.");
  return notes.join(" ");
}

// The signals of the step that is told; a step that is not flagged has none.
function tellReason(stream, i, names, notes) {
  const values = stream.signals.get(stream.number(i)), list = find("#bars");
  const [name, meant] = stream.reasons[stream.reason[i]] || ["", ""];
  const flagged = stream.flags[i] & BIT.flagged, how = flagged ? " is flagged" : ": its risk is below the threshold";
  put("#reason", "Step " + number(stream.number(i)) + how + (flagged && name ? ": " + meant + "." : ".") + " " + notes);
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
    ["Labeled", number(stream.remarks.filter(({ kind }) => kind === "mark").length), ""],
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

  async function send(label, at = step) {
    failed.textContent = "";
    const headers = { "Content-Type": "application/json", "X-Tcuq": "1" };
    try {
      const answer = await fetch("/mark", { method: "POST", headers, body: JSON.stringify({ step: at, label }) });
      const text = (await answer.text()).trim();
      if (!answer.ok) throw new Error(text);
      dialog.close();
      told(text);
    } catch (error) {
      const away = error instanceof TypeError ? "the server does not answer; nothing was written" : error.message;
      failed.textContent = "Not written: " + away;
      if (!dialog.open) told(failed.textContent);
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
  find("#right").addEventListener("click", () => send(true));
  find("#unknown").addEventListener("click", () => send(null));
  find("#cancel").addEventListener("click", () => dialog.close());

  return { send, ask: (i, at = stream.number(i)) => {
    step = at;
    failed.textContent = search.value = "";
    const said = stream.holds(step) ? " answered " + quoted(nameOf(stream, stream.answer[step - stream.first])) : "";
    put("#asked", "Step " + number(step) + said + ". What was it really?");
    fill();
    dialog.showModal();
    search.focus();
  } };
}

function start() {
  const stream = makeSteps(JSON.parse(find("#reasons").textContent)), stage = find("#stage"), overview = find("#overview"), spoken = find("#spoken");
  const rows = signalRows(stream.rows);
  const raised = (i) => i >= 0 && Boolean(stream.flags[i] & HELD);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let about = {}, state = "opening", acted = true, ink = null, frame = 0, told = -1e9, due = 0;
  let px = null, pinned = null; // where the pointer reads, and the number of the step that was chosen
  let came = Date.now(), fresh = true, unknown = true; // the last step's arrival; whether none was told; or is known now
  let why = "", asked = null, span = 3600, hour = null, drawn = -1e9, kind = ""; // the last step that asked; the hour as it was drawn, when, and what stood first
  const experts = find("#experts"), wall = find("#hour"), time = (step, at) => (stream.holds(step) ? stream.time[step - stream.first] : at);

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
    const span = spanOf(quiet);
    const late = !stream.steps || quiet >= Math.max(QUIET, PAUSES / (stream.rate() || 1));
    let shown = state;
    if (state === "here" && device && device.kind === "lost") shown = "lost";
    else if (state === "here") shown = late ? "quiet" : view.following ? "here" : "paused";
    unknown = shown !== "here" && shown !== "paused";
    const words = {
      opening: "connecting\u2026", away: "connection lost, trying again\u2026", ended: "the program has ended",
      locked: "the token is no longer valid: open the new link", lost: device && device.text.endsWith(" ended") ? "the input has ended" : "device lost, waiting for it",
      paused: "live, paused below", here: "live" + (stream.rate() ? ", " + real(stream.rate(), stream.rate() < 9.95 ? 1 : 0) + " steps/s" : ""), quiet: stream.steps ? "no step for " + span : none,
    };
    root.dataset.state = shown;
    why = words[shown];
    put("#state", why);
  }

  function tellPanel() {
    const i = selected(), last = stream.steps - 1;
    const which = i === last ? "Last " : reading.step !== null ? "Selected " : "Shown ";
    put("#which", which + "step " + number(stream.number(i)) + ", " + clock(stream.time[i]));
    tellReason(stream, i, about.signals, tellStep(stream, i, about));
  }

  // What to do now, in a word that is read from afar, and what speaks for it.
  function tellNow() {
    const last = stream.steps - 1, now = stream.now, facts = [], clocked = now.since ? clock(now.since).slice(0, 5) : "";
    const recent = asked && stream.holds(asked.step) && Date.now() - asked.at < 1000 * ASKED && asked.step - stream.first;
    const said = raised(last) ? "hold" : stream.steps && (stream.flags[last] & BIT.ask || (asked && Date.now() - asked.at < FLASH)) ? "ask" : "act";
    const before = kind, shown = unknown || !stream.steps ? "none" : said, quiet = (Date.now() - came) / 1000;
    kind = shown;
    let headline = "", lasts = now.since ? spanOf(stream.time[last] - now.since) : "";
    if (!stream.steps) {
      headline = "No step yet.";
      facts.push("Connected to " + (about.source || "the server") + ".", 'Expects one line of JSON a step, such as {"probs": [0.02, 0.91, 0.07]}: see docs/LIVE.md.');
    } else if (shown === "none") {
      const pause = 1 / (stream.rate() || 1);
      if (root.dataset.state !== "quiet") facts.push(sentence(why));
      headline = "Last step " + spanOf(quiet) + " ago, " + clock(stream.time[last]);
      facts.push("Usually one every " + (pause < 1 ? pause.toFixed(pause < 0.1 ? 3 : 1) + " s" : spanOf(pause)) + ". It said " + WORDS[said] + ". Whether an alarm is on is unknown.");
    } else if (shown === "hold") {
      const moved = (about.moved || {})[stream.moved[last]], expected = stream.accuracy[last] / 255;
      headline = now.since ? "since " + clocked + ", " + lasts : "";
      const was = now.before ? ", was " + whole(now.before) : "";
      if (Number.isFinite(expected)) facts.push("Expected accuracy " + whole(expected) + was + ".");
      facts.push(moved ? sentence(moved) : about.far === 0 ? "The input looks degraded." : "The risk is not that of clean data.");
      if (now.holds > 1) facts.push(number(now.holds) + " alarms since then: it comes and goes.");
      facts.push("The alarm is on: do not act on any answer. It ends when the input is as before.");
    } else {
      headline = nameOf(stream, stream.answer[last]);
      if (shown === "ask") facts.push("Not sure: ask again, or ask a person.");
      if (now.since) facts.push("No alarm for " + lasts + ".");
      else facts.push("No alarm in " + number(stream.counts.steps || stream.steps) + " steps.");
    }
    find("#now").dataset.decision = shown;
    put("#decision", WORDS[shown]);
    put("#headline", headline);
    const list = find("#facts"), text = facts.join("\n");
    if (list.told !== text) list.replaceChildren(...facts.map((fact) => element("li", {}, fact)));
    list.told = text;
    const ask = recent !== null && recent !== false && about.marks && (shown === "act" || shown === "ask"), names = ask ? [stream.answer[recent], stream.prediction[recent]] : [];
    [["first", names[0]], ["second", names[1] === names[0] ? undefined : names[1]]].forEach(([act, label]) => {
      const button = find('[data-act="' + act + '"]');
      button.hidden = label === undefined;
      if (label !== undefined) put('[data-act="' + act + '"]', "Step " + number(asked.step) + " was " + quoted(nameOf(stream, label)));
    });
    find('[data-act="start"]').hidden = shown !== "hold" || !stream.holds(now.step);
    for (const act of ["last", "wrong"]) find('[data-act="' + act + '"]').hidden = !about.marks || !stream.steps;
    const name = about.title || "tcuq live";
    document.title = WORDS[shown] + (shown === "hold" && lasts ? " " + lasts : "") + " \u2013 " + name;
    if (shown !== before) find("link").href = iconOf(shown);
    tellCounts(stream, about);
  }

  // The hour: drawn once a second, or when someone looks closer.
  function tellHour(now) {
    if (now - drawn < 950 && !acted) return;
    drawn = now;
    const last = stream.steps - 1, hold = kind === "hold";
    wall.classList.toggle("moved", hold || !Number.isFinite(stream.accuracy[last]));
    hour = drawHour(find("canvas", wall), stream, about, span, hold ? stream.moved[last] : null, hold && stream.now.before, ink);
    const accuracy = accuracyOf(stream, last).replace("(", "(likely ").replace("\u2013", " to ");
    put("#hour-title", hour.known ? "Expected accuracy" : sentence(hour.curve.name).slice(0, -1));
    put("#expected", hour.known ? accuracy : "");
    const sum = (key) => hour.cells.reduce((all, cell) => all + (cell && !cell.filled ? cell[key] : 0), 0), steps = sum("n");
    const shares = "asked on " + share(sum("ask"), steps) + ", held on " + share(sum("hold"), steps) + " of the steps shown";
    put("#shares", sentence(shares));
    find("canvas", wall).setAttribute("aria-label", "Expected accuracy " + accuracy + "; " + shares);
    for (const button of document.querySelectorAll("[data-span]")) button.setAttribute("aria-pressed", String(Number(button.dataset.span) === span));
  }

  const cellAt = (event) => {
    const box = wall.getBoundingClientRect();
    return hour && Math.floor(((event.clientX - box.left - GUTTER) / (box.width - ROOM - GUTTER)) * hour.count);
  };
  wall.addEventListener("pointermove", (event) => {
    const k = cellAt(event), cell = hour && hour.cells[k], at = hour && hour.from + ((k + 0.5) / hour.count) * (hour.end - hour.from);
    if (!cell) return put("#cell", "No data here.");
    const [accuracy, low, high] = cell.sums.map((sum) => sum / cell.n), band = Number.isFinite(low) ? " (likely " + whole(low) + " to " + whole(high) + ")" : "";
    const expects = Number.isFinite(accuracy) ? "; expected accuracy " + whole(accuracy) + band : "";
    put("#cell", (hour.timed ? clock(at) : "Step " + number(stream.number(Math.floor(at)))) + ": act " + (cell.n - cell.ask - cell.hold) + ", ask " + cell.ask + ", hold " + cell.hold + expects);
  });
  wall.addEventListener("pointerleave", () => put("#cell", "Press a place in the chart to see its step."));
  wall.addEventListener("click", (event) => {
    const k = cellAt(event), width = hour && (hour.end - hour.from) / hour.count, at = hour && hour.from + k * width;
    for (let i = 0; hour && i < stream.steps; i++) if (hour.at(i) >= at) return goToStep(stream.number(i));
  });

  function listSpans() {
    const list = find("#spans");
    if (list.told === stream.remarks) return;
    list.told = stream.remarks;
    const words = { hold: "HOLD", lost: "Device lost", missing: "Steps missing" };
    const rows = spansOf(stream.remarks, time).slice(-60).reverse().map(({ kind, from, end, step, times, text }) => {
      const long = kind === "missing" ? "" : end === null ? "still on" : spanOf(end - from);
      const more = text.replace(/^ALARM: /, "") + (times > 1 ? ", " + times + " times" : ""), stamp = element("time", {}, clock(from).slice(0, 5));
      const button = element("button", { type: "button", title: "Step " + number(step) }, stamp, element("b", {}, words[kind]), element("i", {}, long), element("span", {}, more));
      button.dataset.kind = kind;
      button.addEventListener("click", () => goToStep(step));
      return element("li", {}, button);
    });
    if (rows.length) list.replaceChildren(...rows);
  }

  // What labels say, and which steps to label next.
  function tellLabels() {
    const { lines = [], ask = [] } = stream.labels, section = find("#labels");
    if (section.told === stream.labels) return;
    section.told = stream.labels;
    section.hidden = !lines.length;
    find("#said-by-labels").replaceChildren(...lines.map((line) => element("li", {}, sentence(line))));
    find("#to-label").hidden = !ask.length || !about.marks;
    find("#ask-next").replaceChildren(...(about.marks ? ask : []).map((step) => {
      const button = element("button", { type: "button" }, "Step " + number(step));
      button.addEventListener("click", () => wrong.ask(null, step));
      return button;
    }));
  }

  function tellRange() {
    const from = stream.number(inside(view.from)), to = stream.number(lastShown()), behind = stream.steps - 1 - lastShown();
    put("#range", "Steps " + number(from) + "\u2013" + number(to) + (behind ? ", " + number(behind) + " newer" : ""));
    Object.assign(root.dataset, { from, to, held: stream.steps });
    if (!experts.open) return;
    drawOverview(find("canvas", overview), stream, ink);
    showWindow(view, overview);
  }

  function draw(now) {
    frame = 0;
    tellState();
    if (acted || !ink) ink = palette();
    // The word follows every step; what is read closely is told less often, the last for sure.
    const next = acted || px !== null || now - told > (calm.matches ? 950 : 240);
    if (next) {
      told = now;
      clearTimeout(due);
      due = 0;
      tellNow();
      listRemarks(stream, goToStep);
      listSpans();
      tellLabels();
    } else later();
    if (!stream.steps) return;
    if (next) tellHour(now);
    // A picture that is paused keeps its scale, whatever comes in behind it.
    if (view.following || acted) stream.top = stream.reach();
    reading.step = px !== null ? inside(page.stepAt(px)) : stream.holds(pinned) && pinned !== null ? pinned - stream.first : null;
    if (experts.open) drawExperts();
    if (next) {
      tellPanel();
      tellRange();
    }
    acted = false;
    root.dataset.ready = root.dataset.ready || String(Math.round(performance.now())); // ms to the first picture
    root.dataset.frames = Number(root.dataset.frames || 0) + 1;
  }

  function drawExperts() {
    find('[data-act="pause"]').setAttribute("aria-pressed", String(!view.following));
    put("#pause-word", view.following ? "Pause" : "Back to live");
    stage.classList.toggle("pinned", px === null);
    drawTimeline(find("canvas", stage), stream, view, ink);
    rows.forEach((r) => drawSignal(r.canvas, r.row, stream, view, false, ink));
    reading.show();
  }

  function goToStep(step) {
    if (!stream.holds(step)) return;
    const half = Math.min(view.span(), 1000) / 2, at = step - stream.first;
    pinned = step;
    experts.open = true;
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
    wrong: () => about.marks && stream.steps && wrong.ask(selected()),
    last: () => wrong.ask(stream.steps - 1),
    start: () => goToStep(stream.now.step),
    first: () => wrong.send(stream.answer[asked.step - stream.first], asked.step),
    second: () => wrong.send(stream.prediction[asked.step - stream.first], asked.step),
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
      stream.widen((about.numbers || []).length);
      put("#title", about.title || "Live");
      find(".falls").hidden = !about.falls;
      const judged = { device: "decided on the device", host: "decided on this computer" }[about.decided_by];
      const source = about.source === about.title ? "" : about.source;
      put("#place", [about.place, source, judged, about.params && "parameters " + about.params].filter(Boolean).join(" \u00b7 "));
    },
    part: (part) => {
      const before = stream.first;
      stream.append(part);
      // What was there before this page was opened came when the server says; after that its own clock counts.
      if (part.count) came = fresh ? Math.min(Date.now(), stream.time[stream.steps - 1] * 1000) : Date.now();
      fresh = false;
      for (let i = stream.steps - 1; i >= stream.steps - part.count; i--) {
        if (!(stream.flags[i] & BIT.ask)) continue;
        asked = { step: stream.number(i), at: came - 1000 * (stream.time[stream.steps - 1] - stream.time[i]) };
        break;
      }
      if (stream.steps) view.moved(stream.first - before);
      (calm.matches && root.dataset.ready ? later : soon)();
    },
  });
  for (const button of document.querySelectorAll("[data-span]")) {
    button.addEventListener("click", () => {
      span = Number(button.dataset.span);
      redraw();
    });
  }
  experts.addEventListener("toggle", redraw);
  setInterval(soon, 1000);
  soon();
}

try {
  start();
} catch (error) {
  root.dataset.error = String(error);
  put("#headline", "This page could not start: " + error);
}
