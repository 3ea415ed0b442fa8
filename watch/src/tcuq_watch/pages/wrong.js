// The mark "this was wrong": asks for the true class, sends it, and shows what was written.

function makeWrong(stream, about, told) {
  const dialog = find("#wrong"), search = find("#search"), list = find("#classes"), failed = find("#failed");
  let step = 0, options = [], chosen = -1, busy = false;

  const all = () => Array.from({ length: about().classes || stream.names.length }, (_, k) => k);
  const fits = (k, text) => !text || String(k) === text || nameOf(stream, k).toLowerCase().includes(text);

  function choose(k) {
    chosen = k < 0 ? -1 : Math.min(options.length - 1, k);
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
    if (chosen >= 0 && list.children[chosen]) {
      list.children[chosen].scrollIntoView({ block: "nearest" });
      search.setAttribute("aria-activedescendant", list.children[chosen].id);
    } else search.removeAttribute("aria-activedescendant");
  }

  function fill() {
    const text = search.value.trim().toLowerCase();
    options = all().filter((k) => fits(k, text));
    list.replaceChildren(...options.map((k) => {
      const item = element("li", { id: "class-" + k, role: "option" }, element("kbd", {}, String(k)), element("span", {}, nameOf(stream, k)));
      item.addEventListener("click", () => send(k));
      return item;
    }));
    if (!options.length) list.append(element("li", {}, "No class is called that."));
    choose(text ? 0 : -1);
  }

  async function send(label) {
    if (busy) return;
    busy = true;
    failed.textContent = "";
    try {
      const answer = await fetch("/mark", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Tcuq": "1" },
        body: JSON.stringify({ step, label }),
      });
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.error || "the server said " + answer.status);
      const at = stream.holds(step);
      if (at >= 0) stream.marked[at] = 255;
      dialog.close();
      told(step, label, said.text);
    } catch (error) {
      const away = error instanceof TypeError ? "the server does not answer; nothing was written" : error.message;
      failed.textContent = "Not written: " + away;
    } finally {
      busy = false;
    }
  }

  search.addEventListener("input", fill);
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const digit = /^[0-9]$/.test(event.key) && !search.value && all().length <= 10;
    const acts = {
      ArrowDown: () => choose(chosen + 1), ArrowUp: () => choose(Math.max(0, chosen - 1)),
      Enter: () => chosen >= 0 && options.length && send(options[chosen]), "?": search.value ? undefined : () => send(null),
      Escape: () => dialog.close(),
    };
    const act = digit ? () => all().includes(Number(event.key)) && send(Number(event.key)) : acts[event.key];
    if (!act || (event.key === "Enter" && event.target !== search)) return;
    event.preventDefault();
    act();
  });
  find("#unknown").addEventListener("click", () => send(null));
  find("#cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  return (i) => {
    if (!stream.steps || dialog.open) return;
    step = stream.number(i);
    failed.textContent = search.value = "";
    put("#asked", "Step " + number(step) + " answered \u201c" + nameOf(stream, stream.answer[i]) + "\u201d. What was it really?");
    put("#keys", all().length <= 10 ? "Press the number of a class, or ? if you do not know." : "Type a name or number, then Enter; ? if you do not know.");
    fill();
    dialog.showModal();
    search.focus();
  };
}
