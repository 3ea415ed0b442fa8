"""Labels that come late: error control on the benchmark's streams, and rivals."""
