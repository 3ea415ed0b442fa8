"""Making recordings: which rows experiments need, many networks at once, checksums of the files."""
