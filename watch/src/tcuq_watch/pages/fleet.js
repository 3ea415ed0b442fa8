// The fleet's page works without this; a served one keeps itself up to date. Names in HTML were escaped by the
// server, and the policy lets no script in.

const EVERY = 5000; // ms

async function refresh() {
  const began = performance.now(), state = (text) => (document.getElementById("state").textContent = text);
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const now = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
      if (now && part.innerHTML !== now.innerHTML) part.replaceWith(now);
    }
    if (location.hash && !document.querySelector(":target")) location.replace(location.hash);
  } catch (error) {
    state(" \u2013 not up to date: the server does not answer");
  }
  // A large fleet takes the server longer: it is asked less often.
  setTimeout(refresh, Math.max(EVERY, 10 * (performance.now() - began)));
}

// A file has its devices in it: rows that are not meant are hidden.
function filter() {
  const value = (name) => (document.getElementById(name) || { value: "" }).value, text = value("find").trim().toLowerCase();
  for (const list of document.querySelectorAll("table.worst")) {
    const titles = [...list.querySelectorAll("thead th")].map((cell) => cell.textContent);
    const fits = (row, title, wanted) => !wanted || row.cells[titles.indexOf(title)].textContent === wanted;
    for (const row of list.tBodies[0].rows) {
      row.hidden = !(row.cells[0].textContent.toLowerCase().includes(text) && fits(row, "Version", value("version")) && fits(row, "Site", value("site")));
    }
  }
  for (const more of document.querySelectorAll("#worst details")) more.open ||= Boolean(text || value("version") || value("site"));
}

// A served page takes labels of the steps that it asks for.
async function mark({ target }) {
  const asked = target.closest("[data-mark]");
  if (!asked || target.tagName !== "BUTTON") return;
  const body = JSON.stringify({ ...JSON.parse(asked.dataset.mark), label: target.value === "true" });
  try {
    const answer = await fetch("/mark", { method: "POST", headers: { "Content-Type": "application/json", "X-Tcuq": "1" }, body });
    asked.textContent = (await answer.text()).trim();
  } catch (error) {
    asked.append(" Not written: the server does not answer.");
  }
  asked.setAttribute("role", "status");
}
document.addEventListener("click", mark);

const form = document.querySelector(".find");
if ("served" in document.body.dataset) setTimeout(refresh, EVERY);
else if (form) {
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
}
