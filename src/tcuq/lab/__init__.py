"""The lab in which methods are compared: streams, events, alarms, intervals, plots."""
