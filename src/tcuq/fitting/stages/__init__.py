"""The stages of a fit.

    Request -> read -> FitState -> learn_evidence -> find_signals -> fit_heads -> set_threshold
            -> set_alarm -> estimate_accuracy -> conclude -> Params

`read` makes a `FitState`, to which each stage adds what it found, under names of its own: arrays and
parameters for later stages, `findings` (figures for the notes of the parameters) and `notes` (sentences,
printed after "Note:").

The monitor runs in `learn_evidence`, for signals of one step, and in `find_signals`: over the log, over the
clean log if there is one, and over the shuffled log if a later stage needs it. Later stages take columns of
those tables. New coefficients need no new run: `tcuq.fitting.gated.scores` computes uncertainty and risk of a
table with the core's integers.

Another alarm is a function from `FitState` to `Summed` that `alarm.choose_sum` chooses. Another finding is
a function from `FitState` to figures that `conclude` calls, only with `explain` if it takes long, and then on
the steps of `some_of`; `tcuq.monitor.params_words` says it in words.

Random numbers come from ``state.rng``, and each draw moves those that follow. New code makes a generator
of its own (``np.random.default_rng([seed, 1])``, another number each), so that fits stay as they are.
"""
