"""Our trained networks on boards: quantized, measured beside other methods, compared with Python."""
