"""From a graph to C: where tensors lie in memory, how constants are packed, and the source itself."""
