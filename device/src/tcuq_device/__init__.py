"""Networks and the monitor on a microcontroller: int8 graphs, C, boards, and what they cost."""
