"""The stages of a fit, in the order of `tcuq.fitting.fit`.

`read` makes a `FitState`, to which each stage adds what it found, under names of its own. The monitor runs in
`learn_evidence`, for signals of one step, and in `find_signals`: over the logs, and over the shuffled log if
a later stage needs it. Later stages take columns of those tables; `tcuq.fitting.arrays` does the rest.

Another alarm is a function from `FitState` to `Summed` that `alarm.choose_sum` chooses. Another finding is a
function from `FitState` to figures that `conclude` calls, only with `explain` if it takes long, and then on
the steps of `some_of`; `tcuq.fitting.words` says it in words.

Random numbers come from ``state.rng``, and each draw moves those that follow. New code makes a generator
of its own (``np.random.default_rng([seed, 1])``, another number each), so that fits stay as they are.
"""
