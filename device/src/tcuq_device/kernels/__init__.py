"""The int8 kernels in C99, and the same C run on this computer."""
