"""Many devices at once: events put in order, run through banks of monitors, committed, summed up."""
