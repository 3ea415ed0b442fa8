"""A firmware from networks and a decision rule: the C that joins them, compiled and linked for a board."""
