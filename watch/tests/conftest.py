"""Fixtures that several tests of watch use."""

from brokers import mosquitto, sender  # noqa: F401
from receivers import server  # noqa: F401
