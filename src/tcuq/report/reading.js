// The reading: what is said about the step under the pointer, in the chart, beside it and to a screen reader.

const number = (value) => value.toLocaleString("en");
const risk = (word) => (word / 65536).toFixed(3);

function factsOfCell(stream, i, named) {
  const from = i * stream.per, size = Math.min(stream.steps, from + stream.per) - from;
  const held = (share) => Math.round((share[i] / 255) * size) + " of " + size;
  const out = [["Steps " + named(from) + "\u2013" + named(from + size - 1), ""]];
  out.push(["risk", risk(stream.riskLow[i]) + " to " + risk(stream.riskHigh[i])]);
  out.push(["threshold", risk(stream.thresholdLow[i]) + " to " + risk(stream.threshold[i])]);
  out.push(["flagged", held(stream.flagged)], ["abstained", held(stream.abstain)]);
  if (stream.wrong) out.push(["wrong", held(stream.wrong)]);
  return out;
}

function factsOfStep(stream, i, named) {
  const word = stream.threshold[i], flags = stream.flags[i];
  const out = [["Step " + named(i), ""], ["risk", risk(stream.risk[i])]];
  out.push(["threshold", word === 65535 ? "1 or more" : word === 0 ? "0 or less" : risk(word)]);
  const kept = flags & BIT.flagged ? "accepted, though flagged" : "accepted";
  out.push(["decision", flags & BIT.abstain ? "abstained" : kept]);
  const reason = stream.reasons[stream.reason[i]];
  if (flags & BIT.flagged) out.push(["reason", reason ? reason[0] + ": " + reason[1] : "none stands out"]);
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
