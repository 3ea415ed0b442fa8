"""Devices in the field: one of them on a live page, or a fleet of them."""
