// The fleet's page works without this; it adds sorting, and in a served page the search and fresh figures.

const root = document.documentElement;
const chosen = {};

function sortTable(table, key, down) {
  const head = [...table.tHead.rows[0].cells];
  const column = head.findIndex((cell) => cell.querySelector(`[data-key="${key}"]`));
  if (column < 0) return;
  head.forEach((cell, place) => {
    if (place === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
  const value = (row) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)));
  table.tBodies[0].append(...rows);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest(".sort");
  if (!button) return;
  const cell = button.closest("th"), table = button.closest("table");
  const before = cell.getAttribute("aria-sort");
  // Numbers are first asked for from the largest on, names from A on.
  const down = before ? before === "ascending" : cell.classList.contains("n");
  chosen.key = button.dataset.key;
  chosen.down = down;
  sortTable(table, chosen.key, down);
});

function settle() {
  const table = document.querySelector("table.sortable");
  if (table && chosen.key) sortTable(table, chosen.key, chosen.down);
}

// Served: fresh figures, and the search over all devices.

const view = root.dataset.view;
const devices = { rows: null, asked: 0 };
const FRESH = 30000;

function state(text) {
  const place = document.getElementById("state");
  if (place) place.textContent = text;
}

function replacePart(key, html) {
  const part = document.querySelector(`[data-part="${key}"]`);
  if (!part || part.innerHTML === html || part.contains(document.activeElement)) return;
  const open = [...part.querySelectorAll("details")].map((each) => each.open);
  // Names in it were escaped by the server, and the policy lets no script in.
  part.innerHTML = html;
  part.querySelectorAll("details").forEach((each, place) => { each.open = Boolean(open[place]); });
}

async function refresh() {
  let wait = 1000 * Number(root.dataset.every || 5);
  if (!document.hidden) {
    const began = performance.now();
    try {
      const answer = await fetch(`/${view}/data`, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const found = await answer.json();
      for (const [key, html] of Object.entries(found.parts)) if (key !== "worst" || !searching()) replacePart(key, html);
      settle();
      state("");
    } catch (error) {
      state("not up to date: the server does not answer");
    }
    // A large fleet takes the server longer: it is asked less often.
    wait = Math.max(wait, 10 * (performance.now() - began));
  }
  setTimeout(refresh, wait);
}

function searching() {
  const field = document.getElementById("find");
  return Boolean(field && (field.value || field === document.activeElement));
}

async function load() {
  if (performance.now() - devices.asked < FRESH && devices.asked) return;
  devices.asked = performance.now();
  try {
    const answer = await fetch("/fleet-devices/data", { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    devices.rows = await answer.json();
    find();
  } catch (error) {
    devices.asked = 0;
    say("the list of devices did not arrive; type again");
  }
}

function say(text) {
  const place = document.getElementById("found");
  if (place) place.textContent = text;
}

const MOST = 20;

function find() {
  const field = document.getElementById("find"), place = document.getElementById("matches");
  if (!field || !place) return;
  const wanted = field.value.trim().toLowerCase();
  place.textContent = "";
  if (!wanted) return say("");
  if (!devices.rows) return say("loading …");
  const { names, versions, version, risk, steps, alarm, last } = devices.rows;
  if (!names) return say(devices.rows.why || "");
  const hits = [];
  for (let i = 0; i < names.length; i++) {
    const where = names[i].toLowerCase().indexOf(wanted);
    // The name itself comes first, then names that begin with it.
    if (where >= 0) hits.push([names[i].length === wanted.length ? 0 : where ? 2 : 1, names[i], i]);
  }
  hits.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
  const count = hits.length;
  say(count === 0 ? "no device has that in its name" : count === 1 ? "1 device" : `${count.toLocaleString("en")} devices`);
  if (!count) return;
  const table = document.createElement("table");
  const titles = ["Device", "Version", "Recent risk", "Alarm", "Steps", "Last heard"];
  const line = (cells, name) => {
    const row = document.createElement("tr");
    cells.forEach((text, at) => {
      const cell = document.createElement(at === 0 && name === "td" ? "th" : name);
      cell.textContent = text;
      if (at === 0 && name === "td") cell.scope = "row";
      if (at > 1) cell.className = "n";
      row.append(cell);
    });
    return row;
  };
  table.createTHead().append(line(titles, "th"));
  const rows = table.createTBody();
  const words = ["–", "risen", "fallen", "risen and fallen"];
  for (const [, , i] of hits.slice(0, MOST)) {
    const when = last[i] === null ? "–" : new Date(1000 * last[i]).toISOString().slice(0, 16).replace("T", " ") + " UTC";
    const mean = risk[i] === null ? "–" : risk[i].toFixed(3);
    rows.append(line([names[i], versions[version[i]], mean, words[alarm[i]] || String(alarm[i]), steps[i].toLocaleString("en"), when], "td"));
  }
  if (count > MOST) {
    const more = document.createElement("caption");
    more.textContent = `The first ${MOST} of ${count.toLocaleString("en")}`;
    table.append(more);
  }
  place.append(table);
}

if (view) {
  document.addEventListener("focusin", (event) => { if (event.target.id === "find") load(); });
  document.addEventListener("input", (event) => { if (event.target.id === "find") { load(); find(); } });
  document.addEventListener("submit", (event) => event.preventDefault());
  setTimeout(refresh, 1000 * Number(root.dataset.every || 5));
}

// The share in alarm under the cursor, or where the arrow keys went.

let at = null;

function clock(seconds) {
  return new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

function read(figure, share) {
  const area = figure.querySelector(".area"), series = JSON.parse(figure.dataset.series);
  const times = [...new Set(series.flatMap((each) => each.time))].sort((a, b) => a - b);
  if (!times.length) return;
  if (share !== null) {
    const middle = series[0].width / 2;
    const first = times[0] + middle, span = times[times.length - 1] + middle - first;
    const wanted = first + share * span - middle;
    at = times.reduce((best, time, place) => (Math.abs(time - wanted) < Math.abs(times[best] - wanted) ? place : best), 0);
  }
  at = Math.max(0, Math.min(times.length - 1, at === null ? times.length - 1 : at));
  let box = figure.querySelector(".read"), cross = figure.querySelector(".cross");
  if (!box) {
    box = document.createElement("div");
    box.className = "read";
    box.setAttribute("role", "status");
    cross = document.createElement("div");
    cross.className = "cross";
    area.append(cross, box);
  }
  const lines = [clock(times[at])];
  for (const each of series) {
    const place = each.time.indexOf(times[at]);
    if (place < 0 || !each.devices[place]) continue;
    const found = 100 * each.share[place];
    lines.push(`${each.name}: ${found.toFixed(found < 1 ? 2 : 1)} % of ${each.devices[place].toLocaleString("en")} devices`);
  }
  box.textContent = "";
  for (const text of lines) box.append(Object.assign(document.createElement("div"), { textContent: text }));
  const where = times.length > 1 ? (times[at] - times[0]) / (times[times.length - 1] - times[0]) : 0.5;
  box.style.display = cross.style.display = "block";
  cross.style.left = 100 * where + "%";
  box.style.left = where < 0.5 ? 100 * where + 1 + "%" : "auto";
  box.style.right = where < 0.5 ? "auto" : 100 - 100 * where + 1 + "%";
}

function hide(figure) {
  for (const each of figure.querySelectorAll(".read, .cross")) each.style.display = "none";
}

const reading = (event) => event.target.closest && event.target.closest(".reading");
document.addEventListener("pointermove", (event) => {
  const figure = reading(event);
  document.querySelectorAll(".reading").forEach((each) => { if (each !== figure && each !== document.activeElement) hide(each); });
  if (!figure) return;
  const box = figure.querySelector(".area").getBoundingClientRect();
  read(figure, Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)));
});
document.addEventListener("keydown", (event) => {
  const figure = reading(event), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!figure || (!step && event.key !== "Escape")) return;
  event.preventDefault();
  if (!step) return hide(figure);
  at = at === null ? null : at + step;
  read(figure, null);
});
document.addEventListener("focusout", (event) => { if (reading(event)) hide(reading(event)); });

root.dataset.ready = "1";
