// The fleet's page works without this; it adds sorting, and in a served page the search and fresh figures.

const root = document.documentElement;
const byId = (id) => document.getElementById(id);
const say = (id, text) => byId(id) && (byId(id).textContent = text);
const chosen = {};

function sortTable() {
  const table = document.querySelector("table.sortable");
  const head = table ? [...table.tHead.rows[0].cells] : [];
  const column = head.findIndex((cell) => cell.querySelector(`[data-key="${chosen.key}"]`));
  if (column < 0) return;
  head.forEach((cell) => cell.removeAttribute("aria-sort"));
  head[column].setAttribute("aria-sort", chosen.down ? "descending" : "ascending");
  const value = ({ cells }) => cells[column].dataset.sort || cells[column].textContent;
  const order = (a, b) => Number(a) - Number(b) || a.localeCompare(b, "en", { numeric: true });
  const rows = [...table.tBodies[0].rows].sort((a, b) => (chosen.down ? -1 : 1) * order(value(a), value(b)));
  table.tBodies[0].append(...rows);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".sort");
  if (!button) return;
  const cell = button.closest("th"), before = cell.getAttribute("aria-sort");
  // Numbers are first asked for from the largest on, names from A on.
  chosen.down = before ? before === "ascending" : cell.classList.contains("n");
  chosen.key = button.dataset.key;
  sortTable();
});

// Served: fresh figures, and the search over all devices. Names in HTML were escaped by the server, and the
// policy lets no script in.

async function ask(query) {
  const answer = await fetch(`/${root.dataset.view}/data${query}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function replacePart(key, html) {
  const part = document.querySelector(`[data-part="${key}"]`), field = byId("find");
  const used = part.contains(document.activeElement) || (field && field.value && part.contains(field));
  if (used || part.innerHTML === html) return;
  const open = [...part.querySelectorAll("details")].map((each) => each.open);
  part.innerHTML = html;
  part.querySelectorAll("details").forEach((each, place) => { each.open = Boolean(open[place]); });
}

async function refresh() {
  const began = performance.now();
  if (!document.hidden) {
    try {
      for (const [key, html] of Object.entries((await ask("")).parts)) replacePart(key, html);
      sortTable();
      say("state", "");
    } catch (error) {
      say("state", "not up to date: the server does not answer");
    }
  }
  // A large fleet takes the server longer: it is asked less often.
  setTimeout(refresh, Math.max(1000 * Number(root.dataset.every), 10 * (performance.now() - began)));
}

let typing = 0;

async function find() {
  const turn = typing, wanted = byId("find").value.trim();
  let found = { said: "", html: "" };
  try {
    if (wanted) found = await ask(`?find=${encodeURIComponent(wanted)}`);
  } catch (error) {
    found.said = "the server does not answer; type again";
  }
  if (turn !== typing) return; // more was typed meanwhile
  say("found", found.said);
  byId("matches").innerHTML = found.html;
}

if (root.dataset.view) {
  document.addEventListener("input", (event) => {
    if (event.target.id !== "find") return;
    say("found", "searching …");
    clearTimeout(typing);
    typing = setTimeout(find, 200);
  });
  document.addEventListener("submit", (event) => event.preventDefault());
  setTimeout(refresh, 1000 * Number(root.dataset.every));
}

// The share in alarm under the cursor, or where the arrow keys went.

let at = null;
const figureOf = (event) => event.target.closest && event.target.closest(".reading");
const utc = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
const added = (parent, name) => parent.appendChild(Object.assign(document.createElement("div"), { className: name }));

function read(figure, across) {
  const area = figure.querySelector(".area"), series = JSON.parse(figure.dataset.series);
  const times = [...new Set(series.flatMap((each) => each.time))].sort((a, b) => a - b);
  const last = times.length - 1, span = times[last] - times[0];
  if (across !== null) {
    const wanted = times[0] + across * span;
    at = times.reduce((best, time, place) => (Math.abs(time - wanted) < Math.abs(times[best] - wanted) ? place : best), 0);
  }
  at = Math.max(0, Math.min(last, at === null ? last : at));
  const cross = area.querySelector(".cross") || added(area, "cross"), box = area.querySelector(".read") || added(area, "read");
  box.setAttribute("role", "status");
  box.textContent = "";
  added(box, "").textContent = utc(times[at]);
  for (const { name, time, devices, share } of series) {
    const place = time.indexOf(times[at]), percent = 100 * share[place];
    if (!devices[place]) continue;
    added(box, "").textContent = `${name}: ${percent.toFixed(percent < 1 ? 2 : 1)} % of ${devices[place].toLocaleString("en")} devices`;
  }
  const where = span ? (100 * (times[at] - times[0])) / span : 50;
  box.style.display = cross.style.display = "block";
  cross.style.left = where + "%";
  box.style.left = where < 50 ? where + 1 + "%" : "auto";
  box.style.right = where < 50 ? "auto" : 101 - where + "%";
}

function hide(figure) {
  for (const each of figure.querySelectorAll(".read, .cross")) each.style.display = "none";
}

document.addEventListener("pointermove", (event) => {
  const figure = figureOf(event);
  document.querySelectorAll(".reading").forEach((each) => { if (each !== figure && each !== document.activeElement) hide(each); });
  if (!figure) return;
  const box = figure.querySelector(".area").getBoundingClientRect();
  read(figure, Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)));
});
document.addEventListener("keydown", (event) => {
  const figure = figureOf(event), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!figure || (!step && event.key !== "Escape")) return;
  event.preventDefault();
  if (!step) return hide(figure);
  at = at === null ? null : at + step;
  read(figure, null);
});
document.addEventListener("focusout", (event) => { if (figureOf(event)) hide(figureOf(event)); });

root.dataset.ready = "1";
