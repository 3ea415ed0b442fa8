"""What every other part may use: checks of values, fixed-point numbers, files written whole or not at all."""
