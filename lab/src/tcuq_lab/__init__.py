"""The laboratory of tcuq: data, streams, networks, rival methods, and the experiments that compare them."""
