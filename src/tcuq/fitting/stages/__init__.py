"""The stages of a fit, in the order of `tcuq.fitting.fit`: each adds to a `FitState` what it found."""

# Random numbers come from `state.rng`, and each draw moves those that follow: new code makes a generator of
# its own (`np.random.default_rng([seed, 1])`, another number each), so that fits stay as they are.
