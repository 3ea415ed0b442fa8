// The view: which steps are seen. Everything that moves it goes through `look`.

function makeView(stream, changed) {
  const view = {
    from: 0, to: stream.steps,
    get steps() { return stream.steps; }, // a stream may grow
    get least() { return Math.min(stream.steps, Math.max(8, 4 * stream.per)); },
  };
  const within = (from, span) => Math.max(0, Math.min(view.steps - span, from));

  view.span = () => view.to - view.from;
  view.middle = () => (view.from + view.to) / 2;

  view.look = (from, to) => {
    const span = Math.max(view.least, Math.min(view.steps, to - from));
    view.from = within((from + to) / 2 - span / 2, span);
    view.to = view.from + span;
    changed();
  };

  view.zoom = (factor, around) => {
    const span = Math.max(view.least, Math.min(view.steps, view.span() * factor));
    const share = (around - view.from) / view.span();
    const from = within(around - share * span, span);
    view.look(from, from + span);
  };

  view.pan = (distance) => {
    const span = view.span(), from = within(view.from + distance, span);
    view.look(from, from + span);
  };

  view.whole = () => view.look(0, view.steps);
  return view;
}
