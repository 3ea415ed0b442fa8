// Figures are chosen by experiment, task, stream and figure; what is shown stands in the address, so that it can be sent.
var all = JSON.parse(document.getElementById("data").textContent);
var FITS = { told: "same pace", untold: "mixed paces", other: "other pace" };
var CHOICES = ["experiment", "task", "stream", "column"];
var at = {};
CHOICES.concat(["order", "fits", "pairs", "rows", "title", "question", "command", "note", "axis"]).forEach(function (name) {
  at[name] = document.getElementById(name);
});

function make(tag, text, kind) {
  var found = document.createElement(tag);
  if (text) found.textContent = text;
  if (kind) found.className = kind;
  return found;
}

function fill(select, names, wanted, words) {
  var kept = names.indexOf(wanted) >= 0 ? wanted : names[0];
  select.textContent = "";
  names.forEach(function (name) {
    var option = make("option", words ? words(name) : name);
    option.value = name;
    select.appendChild(option);
  });
  select.value = kept;
  return kept;
}

function unique(list) {
  return list.filter(function (each, number) { return list.indexOf(each) === number; });
}

// Every table of an experiment that has the names chosen so far.
function tables(one, chosen) {
  return one.data.filter(function (table) {
    return ["task", "stream", "column"].every(function (name, place) {
      return chosen[name] === undefined || one[name + "s"][table[place]] === chosen[name];
    });
  });
}

function number(value, scale) {
  if (value === null) return "";
  if (Math.abs(value) >= all.never) return value > 0 ? "never" : "\u2212never";
  var text = scale === 10 ? String(value / scale) : (value / scale).toFixed(3);
  return text.replace("-", "\u2212");
}

function show(wanted) {
  var one = all.experiments.filter(function (each) { return each.name === wanted.experiment; })[0] || all.experiments[0];
  if (!one) {
    at.title.textContent = "Nothing was run yet: there are no result files.";
    return;
  }
  var chosen = {};
  fill(at.experiment, all.experiments.map(function (each) { return each.name; }), one.name, function (name) {
    return all.experiments.filter(function (each) { return each.name === name; })[0].title;
  });
  ["task", "stream", "column"].forEach(function (name, place) {
    var there = unique(tables(one, chosen).map(function (table) { return table[place]; })).sort(function (a, b) { return a - b; });
    chosen[name] = fill(at[name], there.map(function (each) { return one[name + "s"][each]; }), wanted[name], function (each) {
      return all.names[each] || each;
    });
  });
  at.question.textContent = "";
  one.question.split("`").forEach(function (part, number) {
    at.question.appendChild(number % 2 ? make("code", part) : document.createTextNode(part));
  });
  at.command.textContent = one.command;
  function named(each) { return all.names[each] || each; }
  at.title.textContent = named(chosen.column) + ": " + named(chosen.task) + ", " + named(chosen.stream);
  draw(one, tables(one, chosen)[0]);
  var place = [one.name, chosen.task, chosen.stream, chosen.column].map(encodeURIComponent).join("/");
  if (location.hash !== "#" + place) history.replaceState(null, "", "#" + place);
}

function draw(one, table) {
  var better = one.better[table[2]], scale = one.scale[table[2]], rows = [], numbers = table[3], i;
  for (i = 0; i < numbers.length; i += 4) {
    var name = one.rows[Math.floor(numbers[i] / one.fits.length)], fit = one.fits[numbers[i] % one.fits.length];
    rows.push({
      name: name, fit: fit, value: numbers[i + 1], pair: / [-\/] /.test(name),
      low: numbers[i + 2] === null ? null : numbers[i + 1] - numbers[i + 2],
      high: numbers[i + 3] === null ? null : numbers[i + 1] + numbers[i + 3]
    });
  }
  var fits = rows.some(function (row) { return row.fit === "untold"; });
  var pairs = rows.some(function (row) { return row.pair; }) && rows.some(function (row) { return !row.pair; });
  at.fits.disabled = !fits;
  at.pairs.disabled = !pairs;
  rows = rows.filter(function (row) {
    if (pairs && row.pair !== at.pairs.checked) return false;
    if (!fits || at.fits.checked || row.fit === "" || row.fit === "untold") return true;
    return !rows.some(function (other) { return other.name === row.name && other.fit === "untold"; });
  });
  if (at.order.value === "best first") {
    rows.sort(function (a, b) { return better < 0 && !at.pairs.checked ? a.value - b.value : b.value - a.value; });
  }
  var ends = [];
  rows.forEach(function (row) {
    [row.value, row.low, row.high].forEach(function (end) { if (end !== null && Math.abs(end) < all.never) ends.push(end); });
  });
  var least = Math.min.apply(null, ends), most = Math.max.apply(null, ends), wide = most - least || 1;
  // An end that is "never" lies outside of the axis: it is drawn up to its edge.
  function across(value) { return Math.max(0, Math.min(100, 100 * (value - least) / wide)); }
  at.axis.textContent = "";
  at.axis.appendChild(make("span", ends.length ? number(least, scale) : ""));
  at.axis.appendChild(make("span", ends.length ? number(most, scale) : ""));
  at.rows.textContent = "";
  rows.forEach(function (row) {
    var line = make("tr", "", /^tcuq/.test(row.name) ? "ours" : "");
    var head = make("th", row.name + (row.fit && (at.fits.checked || row.fit !== "untold") ? ", " + (FITS[row.fit] || row.fit) : ""));
    head.scope = "row";
    var cell = make("td"), track = make("div", "", "track");
    if (least < 0 && most > 0) {
      var zero = make("u");
      zero.style.left = across(0) + "%";
      track.appendChild(zero);
    }
    if (row.low !== null && row.high !== null && Math.abs(row.value) < all.never) {
      var span = make("i");
      span.style.left = across(row.low) + "%";
      span.style.width = across(row.high) - across(row.low) + "%";
      track.appendChild(span);
    }
    if (Math.abs(row.value) < all.never) {
      var dot = make("b");
      dot.style.left = across(row.value) + "%";
      track.appendChild(dot);
    }
    cell.appendChild(track);
    line.appendChild(head);
    line.appendChild(cell);
    line.appendChild(make("td", number(row.value, scale), "number"));
    line.appendChild(make("td", row.low === null || row.high === null ? "" : number(row.low, scale) + " to " + number(row.high, scale), "number"));
    at.rows.appendChild(line);
  });
  at.note.textContent = (better > 0 ? "Higher is better." : better < 0 ? "Lower is better." : "") +
    (fits && !at.fits.checked ? " Fitted on a development stream that mixes paces, where a method is fitted." : "");
}

function wanted() {
  var found = {};
  CHOICES.forEach(function (name) { found[name] = at[name].value; });
  return found;
}

function addressed() {
  var found = {};
  location.hash.slice(1).split("/").forEach(function (part, place) {
    try {
      if (CHOICES[place]) found[CHOICES[place]] = decodeURIComponent(part);
    } catch (error) { /* a damaged address shows the first experiment */ }
  });
  return found;
}

document.getElementById("choice").addEventListener("change", function () { show(wanted()); });
document.getElementById("choice").addEventListener("submit", function (event) { event.preventDefault(); });
window.addEventListener("hashchange", function () { show(addressed()); });
show(addressed());
