"""The commands `tcuq live` and `tcuq fleet`."""
