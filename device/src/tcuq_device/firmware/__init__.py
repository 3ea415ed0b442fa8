"""A firmware from networks and a decision rule: the C that connects them, compiled and linked for a board."""
