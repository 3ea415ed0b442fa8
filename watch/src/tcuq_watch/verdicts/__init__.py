"""What the counts of a fleet mean: baselines, verdicts, and how they are said."""
