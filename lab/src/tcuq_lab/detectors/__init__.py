"""Alarms: what a step says, a statistic over steps, a limit; and their run lengths and delays."""
