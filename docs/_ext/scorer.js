// Tables of results hold every word many times: guides and references come first.
var Scorer = {
  score: ([page, title, anchor, description, score]) => page.startsWith("results/") ? score - 20 : score,
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
