// Saving what is on screen: the steps in view as CSV, the plot as a picture.

const HEAD = [
  "step", "time", "prediction", "prediction_name", "answer", "answer_name", "risk", "threshold", "uncertainty", "flagged",
  "abstain", "alarm", "warming_up", "reason", "persistence", "look", "severity", "expected_accuracy", "marked_wrong",
];

// A table program would run a text that begins like a formula; numbers may begin with a minus.
function cell(value) {
  const text = String(value), safe = typeof value === "string" && /^'*[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

// A clock that was never set may tell anything.
function isoTime(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

function csvOf(stream, from, to) {
  const rows = [HEAD.join(",")], bit = (flags, mask) => (flags & mask ? 1 : 0);
  const digits = (value) => (Number.isFinite(value) ? Number(value.toFixed(6)) : "");
  for (let i = from; i < to; i++) {
    const flags = stream.flags[i], reason = stream.reasons[stream.reason[i]];
    rows.push([
      stream.number(i), isoTime(stream.time[i]),
      stream.prediction[i], stream.names[stream.prediction[i]] || "", stream.answer[i], stream.names[stream.answer[i]] || "",
      digits(stream.risk[i] / 65536), digits(stream.threshold[i] / 65536), digits(stream.uncertainty[i]),
      bit(flags, BIT.flagged), bit(flags, BIT.abstain), bit(flags, BIT.rise) + 2 * bit(flags, BIT.fall),
      bit(flags, BIT.warm), reason ? reason[0] : "", digits(stream.persistence[i] / 255), digits(stream.look[i]),
      digits(stream.severity[i]), digits(stream.accuracy[i] / 255), stream.marked[i] ? 1 : 0,
    ].map(cell).join(","));
  }
  return rows.join("\r\n") + "\r\n";
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(title, stream, from, to, ending) {
  const plain = (title || "live").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40) || "live";
  return plain + "-" + stream.number(from) + "-" + stream.number(Math.max(from, to - 1)) + "." + ending;
}

// The plot and the rows below it, one under the other, with a title.
function pictureOf(charts, title, done) {
  const ink = palette(), scale = window.devicePixelRatio || 1, head = Math.round(34 * scale);
  const sizes = charts.map((chart) => [chart.canvas.width, chart.canvas.height + (chart.title ? 20 * scale : 0)]);
  const whole = document.createElement("canvas");
  whole.width = Math.max(...sizes.map((size) => size[0]));
  whole.height = head + sizes.reduce((sum, size) => sum + size[1], 0);
  const pen = whole.getContext("2d");
  pen.fillStyle = ink.card;
  pen.fillRect(0, 0, whole.width, whole.height);
  pen.fillStyle = ink.ink;
  pen.textBaseline = "middle";
  pen.font = "600 " + 14 * scale + "px " + ink.font;
  pen.fillText(title, 12 * scale, head / 2);
  let y = head;
  charts.forEach((chart, k) => {
    const above = chart.title ? 20 * scale : 0;
    pen.font = 12 * scale + "px " + ink.font;
    if (above) pen.fillText(chart.title, GUTTER * scale, y + above / 2);
    pen.drawImage(chart.canvas, 0, y + above);
    y += sizes[k][1];
  });
  whole.toBlob(done, "image/png");
}
