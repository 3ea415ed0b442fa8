"""Where events come from, and how they are read."""
