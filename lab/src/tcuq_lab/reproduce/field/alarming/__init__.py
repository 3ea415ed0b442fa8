"""Parts of the experiment `alarms`: the monitor's alarm and its rivals, their limits, and what is counted."""
