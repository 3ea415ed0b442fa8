"""What a firmware costs on a board: bytes, instructions, estimated cycles, and result files."""
