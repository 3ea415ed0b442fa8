"""Firmware run in the emulator: counts of instructions."""
