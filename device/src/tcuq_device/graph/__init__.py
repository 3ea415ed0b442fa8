"""An int8 network as a graph: its operators, checks, files, and the arithmetic once more in numpy."""
