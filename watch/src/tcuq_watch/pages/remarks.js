// Remarks: what happened beside the steps, as signs on the axis and as a list.

const SIGNS = {
  lost: ["cross", "abstain", "Device lost"], connected: ["disc", "fall", "Device connected"],
  broken: ["triangle", "abstain", "Not readable"], missing: ["ring", "abstain", "Steps missing"],
  restart: ["square", "risk", "Program started"], reboot: ["square", "shift", "Device started again"],
  alarm: ["up", "rise", "Alarm"], cleared: ["ring", "fall", "Alarm over"], mark: ["diamond", "wrong", "Marked wrong"],
  webhook: ["dot", "muted", "Webhook"], saved: ["dot", "line", "State saved"], note: ["dot", "muted", "Note"],
};
const round = (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
const SHAPES = {
  cross: "M-4-4 4 4M-4 4 4-4", square: "M-3.4-3.4h6.8v6.8h-6.8z", triangle: "M0-4 4 4h-8z", up: "M0-4 4 4h-8z",
  diamond: "M0-4 4 0 0 4-4 0z", disc: round(3.4), ring: round(3.4), dot: round(2),
};
const LINES = new Set(["lost", "connected", "missing", "restart", "reboot"]);
const LISTED = 60;

const signOf = (kind) => (Object.hasOwn(SIGNS, kind) ? SIGNS[kind] : SIGNS.note);

function drawSign(pen, shape, x, y) {
  const path = new Path2D();
  path.addPath(new Path2D(SHAPES[shape]), new DOMMatrix([1, 0, 0, 1, x, y]));
  if (shape !== "cross" && shape !== "ring") pen.fill(path);
  pen.stroke(path);
}

// Remarks in view with their places, those of one pixel told once a kind.
function remarksIn(stream, view, x) {
  const seen = new Set(), out = [];
  for (const remark of stream.remarks) {
    const at = stream.placeOf(remark.step);
    if (at < view.from - 1 || at > view.to + 1) continue;
    const px = x(at), key = remark.kind + Math.round(px);
    if (seen.has(key)) continue;
    seen.add(key);
    out.push({ remark, px });
  }
  return out;
}

function drawRemarkLane(stream) {
  return (pen, view, x, from, to, ink) => {
    pen.lineWidth = 1.6;
    let free = -Infinity;
    for (const { remark, px } of remarksIn(stream, view, x).sort((a, b) => a.px - b.px)) {
      const [shape, color] = signOf(remark.kind);
      // What happened at one place stands side by side, as long as there is room.
      const at = Math.max(GUTTER + 5, Math.min(px, x(view.to) - 5)), moved = Math.max(at, free);
      const place = moved - at > 30 || moved > x(view.to) - 5 ? at : moved;
      free = place + 11;
      pen.fillStyle = pen.strokeStyle = ink[color];
      drawSign(pen, shape, place, (from + to) / 2);
    }
  };
}

function drawMarkLane(stream) {
  return (pen, view, x, from, to, ink) => {
    pen.fillStyle = ink.wrong;
    const last = Math.min(stream.steps, Math.ceil(view.to));
    for (let i = Math.max(0, Math.floor(view.from)); i < last; i++) {
      if (stream.marked[i]) pen.fillRect(x(i), from, Math.max(3, x(i + 1) - x(i)), to - from);
    }
  };
}

// Lines through the plot: where the device or the program broke off, and what this page never saw.
function drawBreaks(stream) {
  return (pen, view, x, top, bottom, ink) => {
    const line = (px, color, dash) => {
      pen.strokeStyle = color;
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(Math.round(px) + 0.5, top);
      pen.lineTo(Math.round(px) + 0.5, bottom);
      pen.stroke();
    };
    pen.lineWidth = 1;
    for (const { remark, px } of remarksIn(stream, view, x)) {
      if (LINES.has(remark.kind)) line(px, ink[signOf(remark.kind)[1]], [3, 3]);
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    let free = -Infinity, last = -Infinity;
    for (const gap of stream.gaps) {
      const px = x(gap.at);
      if (gap.at < view.from || gap.at > view.to || px - last < 2) continue;
      const near = px - last < 9; // many gaps: one line each, without words
      last = px;
      pen.fillStyle = ink.card;
      if (!near) pen.fillRect(px - 3, top, 6, bottom - top);
      for (const off of near ? [0] : [-3, 3]) line(px + off, ink.muted, []);
      const text = gapText(gap), half = pen.measureText(text).width / 2 + 5;
      const middle = Math.max(GUTTER + half, Math.min(px, x(view.to) - half));
      if (near || middle - half < free) continue;
      free = middle + half;
      pen.fillRect(middle - half, top, 2 * half, 17);
      pen.fillStyle = ink.muted;
      pen.fillText(text, middle, top + 9);
    }
    pen.setLineDash([]);
  };
}

function gapText(gap) {
  const count = gap.to - gap.from;
  if (count < 0) return "counted again from " + number(gap.to);
  return number(count) + (count === 1 ? " step" : " steps") + " not seen here";
}

function clock(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "no time" : date.toLocaleTimeString("en-GB");
}

function makeRemarkList(list, saved, stream, goTo) {
  let shown = null;
  return () => {
    const told = stream.remarks.filter((remark) => remark.kind !== "saved");
    const newest = told[told.length - 1];
    const last = stream.remarks.findLast((remark) => remark.kind === "saved");
    saved.textContent = last ? "State saved at " + clock(last.time) + "." : "";
    const key = newest ? told.length + newest.time + newest.text : "";
    if (key === shown) return;
    shown = key;
    list.replaceChildren(...told.slice(-LISTED).reverse().map(({ kind, text, time, step }) => {
      const [shape, color, title] = signOf(kind), sign = element("i", { className: "sign sign-" + shape });
      sign.style.setProperty("--sign", "var(--" + color + ")");
      const words = [element("b", {}, title), element("span", {}, text), element("time", {}, clock(time))];
      const button = element("button", { type: "button", title: "Step " + number(step) }, sign, ...words);
      button.addEventListener("click", () => goTo(step));
      const item = element("li", {}, button);
      item.dataset.kind = kind;
      return item;
    }));
    if (!told.length) list.append(element("li", {}, "Nothing yet."));
  };
}
