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
      if (part.innerHTML !== now.innerHTML) part.replaceWith(now);
    }
  } catch (error) {
    state(" \u2013 not up to date: the server does not answer");
  }
  // A large fleet takes the server longer: it is asked less often.
  setTimeout(refresh, Math.max(EVERY, 10 * (performance.now() - began)));
}

if ("served" in document.body.dataset) setTimeout(refresh, EVERY);
