"""The laboratory of tcuq: datasets, streams, networks, baselines, and the experiments that compare them."""
