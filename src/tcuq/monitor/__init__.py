"""The monitor itself: its parameters, signals, input log, running it, and its saved state."""
