"""An int8 network as a graph: operators, checks, files, and the same arithmetic in numpy."""
