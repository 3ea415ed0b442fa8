"""Firmware run in the emulator: counts of instructions, and whether every step equals Python."""
