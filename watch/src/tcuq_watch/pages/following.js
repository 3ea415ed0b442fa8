// The view that moves along with the stream, and its axis.

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
    for (let i = Math.max(0, Math.ceil(view.from)); i < Math.min(stream.steps, view.to); i++) {
      if (stream.number(i) % step) continue;
      const at = Math.round(x(i)) + 0.5, text = number(stream.number(i)), half = Math.max(30, pen.measureText(text).width / 2);
      if (at - half < free || at + half > width) continue;
      free = at + half + 8;
      pen.beginPath();
      pen.moveTo(at, y);
      pen.lineTo(at, y + 4);
      pen.stroke();
      pen.fillStyle = ink.muted;
      pen.fillText(text, at, y + 6);
      pen.globalAlpha = 0.75;
      pen.fillText(clock(stream.time[i]), at, y + 20);
      pen.globalAlpha = 1;
    }
  };
}

// What is read under the cursor beside what the report tells.
function moreFacts(stream, near) {
  return (i) => {
    const out = [["persistence", real(stream.persistence[i] / 255)], ["look", real(stream.look[i])]];
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
  Object.assign(view, { following: true, wanted: 0, fresh: true, arriving: false });
  const keep = () => (view.wanted = view.span() >= view.steps ? Infinity : view.span());

  view.look = (from, to) => {
    look(from, to);
    keep();
  };
  view.zoom = (factor, around) => {
    view.fresh = false;
    zoom(factor, view.following ? view.to : around);
  };
  view.pan = (distance) => {
    pan(distance);
    if (distance < 0) view.following = false;
    else if (view.to >= view.steps) view.following = true;
    changed();
  };
  view.goTo = (from, to) => {
    view.following = view.fresh = false;
    view.look(from, to);
  };
  view.whole = () => {
    view.fresh = false;
    view.look(0, view.steps);
  };
  // New steps came, and so many of the oldest went.
  view.moved = (gone, rate) => {
    view.arriving = true; // when it is drawn is up to who tells of the steps
    const usual = Math.max(300, Math.min(20000, niceStep((rate || 1) * SECONDS_SHOWN)));
    // A rate that wavers must not make the picture breathe.
    if (view.fresh && (usual > 2.1 * view.wanted || usual < view.wanted / 2.1)) view.wanted = usual;
    if (view.following) look(view.steps - Math.min(view.wanted, view.steps), view.steps);
    else look(view.from - gone, view.to - gone);
    view.arriving = false;
  };
  return view;
}

// Steps a second by the clock of the last ones, before the page has seen enough itself.
function spanRate(stream) {
  const last = stream.steps - 1, first = Math.max(0, last - 500);
  const seconds = stream.time[last] - stream.time[first];
  return seconds > 0 ? (last - first) / seconds : null;
}
