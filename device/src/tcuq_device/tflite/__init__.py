"""Int8 TFLite models: reading the file, refusing what is not supported, and making a graph of it."""
