"""Kinds of measurement: what one unit of an experiment computes from recordings, as records."""
