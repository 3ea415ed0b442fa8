// Long pages hold every word many times: guides come first.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    /^(project|corruptions)\/|^reference\/spec|^(TRUST|RELEASING|FLEET_NUMBERS|SPARK|LAB|DEVICE)/.test(page) ? score - 8 : score,
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
