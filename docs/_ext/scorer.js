// Pages that conf.py names for the words of the query come first. Long pages hold every word many times: guides
// come before them.
const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().match(/[a-z-]+/g) || [];
const told = (page) => {
  const words = ((typeof SEARCHED === "undefined" ? {} : SEARCHED)[page] || "").split(" ");
  return asked.filter((word) => words.includes(word)).length / (asked.length || 1);
};
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score + Math.round(30 * told(page)) -
    (/^corruptions\/|^reference\/spec|^(TRUST|SPARK|LAB)/.test(page) ? 8 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
