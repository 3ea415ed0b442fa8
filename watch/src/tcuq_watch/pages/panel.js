// Words and bars beside the plot: the answer, its figures, the signals behind a doubt, and counts.

const share = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) + " %" : "\u2013");
const real = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits === undefined ? 3 : digits) : "\u2013");

function nameOf(stream, number) {
  return number < 0 ? "\u2013" : stream.names[number] || "class " + number;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function put(query, text) {
  const element = find(query);
  if (element.textContent !== text) element.textContent = text;
}

// The expected accuracy with its band, as tcuq.accuracy_band gives it; whole percents, so that they fit a line.
function accuracyOf(stream, i) {
  const { horizon, error } = stream.band || {}, expected = stream.accuracy[i] / 255;
  if (!Number.isFinite(expected)) return "\u2013";
  if (!error) return share(expected, 1);
  let looks = 0;
  for (let k = Math.max(0, i - 2 * horizon + 2); k <= i; k++) looks += stream.look[k] || 1;
  const off = error[stream.flags[i] & (BIT.rise | BIT.fall) ? 1 : 0];
  const half = 1.645 * Math.sqrt((expected * (1 - expected)) / Math.max(looks, 1) + off * off);
  const percent = (value) => (100 * Math.min(1, Math.max(0, value))).toFixed(0);
  return percent(expected) + " % (" + percent(expected - half) + "\u2013" + percent(expected + half) + ")";
}

function tellAnswer(stream, i, words) {
  const flags = stream.flags[i], kept = !(flags & BIT.abstain);
  put("#which", words);
  put("#answer", nameOf(stream, stream.answer[i]));
  const card = find("#now");
  card.dataset.decision = kept ? "accepted" : "abstained";
  put("#decision", kept ? "accepted" : "not sure");
  const notes = [];
  if (stream.prediction[i] !== stream.answer[i]) notes.push("At this step alone the model said \u201c" + nameOf(stream, stream.prediction[i]) + "\u201d.");
  if (kept && flags & BIT.flagged) notes.push("Flagged, but the budget for abstaining is spent.");
  if (flags & BIT.warm) notes.push("Still warming up.");
  put("#notes", notes.join(" "));
  put("#risk", risk(stream.risk[i]));
  const limit = stream.threshold[i];
  put("#threshold", limit === 65535 ? "1 or more" : limit === 0 ? "0 or less" : risk(limit));
  put("#persistence", real(stream.persistence[i] / 255));
  put("#accuracy", accuracyOf(stream, i));
  const gauge = find("#gauge"), across = (word) => (100 * Math.min(1, word / 65536 / stream.top)).toFixed(2) + "%";
  gauge.style.setProperty("--risk-at", across(stream.risk[i]));
  gauge.style.setProperty("--limit-at", across(limit));
}

// The signals of the step, or of the last flagged one before it.
function tellReason(stream, i) {
  const none = find("#no-reason"), list = find("#bars");
  let at = i;
  while (at >= 0 && at > i - 20000 && !stream.signalsAt(at)) at--;
  const found = at >= 0 ? stream.signalsAt(at) : undefined;
  none.hidden = Boolean(found);
  list.hidden = find("#reason").hidden = !found;
  if (!found) return;
  const known = stream.reasons[stream.reason[at]], name = known ? known[0] : "";
  const how = stream.flags[at] & BIT.abstain ? " was not sure" : " was flagged";
  put("#reason", "Step " + number(stream.number(at)) + how + (name ? ": " + (known[1] || name) + "." : "."));
  const key = found.names.join();
  if (list.dataset.names !== key) {
    list.dataset.names = key;
    list.replaceChildren(...found.names.map((title) => {
      const bar = element("span", { className: "bar" }, element("i"));
      return element("li", { title: stream.meaning(title) }, element("b", {}, title), bar, element("output"));
    }));
  }
  found.names.forEach((title, k) => {
    const item = list.children[k], value = found.values[k];
    item.classList.toggle("chosen", title === name);
    item.querySelector("i").style.width = Math.max(0, Math.min(1, value || 0)) * 100 + "%";
    item.querySelector("output").textContent = value === null ? "\u2013" : real(value, 2);
  });
}

function tellCounts(stream, about, rate) {
  const { steps, flagged, abstained, alarms, remarks } = stream.totals;
  put("#count-steps", number(steps));
  put("#rate", rate === null ? "" : (rate < 9.95 ? rate.toFixed(1) : number(Math.round(rate))) + " a second");
  put("#count-flagged", share(flagged, steps));
  put("#count-abstained", share(abstained, steps));
  put("#aim-flagged", Number.isFinite(about.level) ? "aim " + share(about.level, 1) : number(flagged) + " steps");
  put("#aim-abstained", Number.isFinite(about.budget) ? "budget " + share(about.budget, 1) : number(abstained) + " steps");
  put("#count-alarms", number(alarms));
  put("#count-marks", number(remarks.mark || 0));
  // Counts where they are told; remarks of a kind are joined, so there are fewer of them.
  const counts = { ...remarks, reboots: remarks.reboot, ...stream.totals.counts };
  const troubles = [["broken", "not readable"], ["missing", "missing"], ["lost", "device lost"], ["reboots", "reboots"]];
  const told = troubles.filter(([kind]) => counts[kind]).map(([kind, text]) => number(counts[kind]) + "\u00d7 " + text);
  put("#count-troubles", number(troubles.reduce((sum, [kind]) => sum + (counts[kind] || 0), 0)));
  put("#troubles", told.join(", ") || "all arrived");
}

// Steps a second over the last few seconds, by the clock of this page.
function makeRate() {
  const seen = [];
  return (steps) => {
    const now = performance.now();
    seen.push([now, steps]);
    while (seen.length > 2 && seen[0][0] < now - 5000) seen.shift();
    const [[then, before]] = seen;
    return now - then < 900 ? null : Math.max(0, ((steps - before) * 1000) / (now - then));
  };
}
