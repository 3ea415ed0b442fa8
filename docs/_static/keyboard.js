// The theme opens its drawers with labels, which keys do not reach. Here they become buttons: Enter or Space opens
// a drawer and moves the focus into it, Escape closes it and gives the focus back.
for (const [id, query, name] of [
  ["__navigation", ".sidebar-drawer", "Menu of pages"],
  ["__toc", ".toc-drawer", "Contents of this page"],
]) {
  const box = document.getElementById(id), drawer = document.querySelector(query);
  const buttons = [...document.querySelectorAll(`label[for="${id}"]:not(.overlay)`)];
  if (!box || !drawer) continue;
  drawer.id ||= `drawer${id}`;
  const show = (open) => {
    box.checked = open;
    for (const button of buttons) button.setAttribute("aria-expanded", String(open));
  };
  const used = () => buttons.find((button) => button.checkVisibility());
  for (const button of buttons) {
    button.setAttribute("role", "button");
    button.setAttribute("aria-label", name);
    button.setAttribute("aria-controls", drawer.id);
    button.tabIndex = 0;
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(!box.checked);
      if (box.checked) drawer.querySelector("a[href], input:not([type=hidden])")?.focus();
    });
  }
  box.addEventListener("change", () => show(box.checked));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.checked) return;
    show(false);
    used()?.focus();
  });
  show(box.checked);
}

// Likewise for the pages below a page of the menu.
for (const box of document.querySelectorAll(".toctree-checkbox")) {
  const label = document.querySelector(`label[for="${box.id}"]`);
  if (!label) continue;
  const page = label.parentElement.querySelector("a")?.textContent || "this page";
  const tell = () => label.setAttribute("aria-expanded", String(box.checked));
  label.setAttribute("role", "button");
  label.setAttribute("aria-label", `Pages below ${page}`);
  label.tabIndex = 0;
  label.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    box.checked = !box.checked;
    tell();
  });
  box.addEventListener("change", tell);
  tell();
}
