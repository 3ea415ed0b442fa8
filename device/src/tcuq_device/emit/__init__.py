"""A network and its monitor as one C package: what a user compiles, flashes and feeds."""
