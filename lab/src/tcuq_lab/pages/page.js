// A dwell chosen in one section is chosen in all that have it; without this script each has its own.
document.addEventListener("change", function (event) {
  var chosen = event.target;
  if (chosen.type !== "radio") return;
  var before = chosen.getBoundingClientRect().top;
  document.querySelectorAll('input[type="radio"]').forEach(function (each) {
    if (each.value === chosen.value) each.checked = true;
  });
  window.scrollBy(0, chosen.getBoundingClientRect().top - before);
});
