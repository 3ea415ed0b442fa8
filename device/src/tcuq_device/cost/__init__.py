"""What a firmware takes on a board: bytes, instructions, estimated cycles, and files of such figures."""
