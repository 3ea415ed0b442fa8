"""What methods are tuned by and judged by: drop events, alarm statistics, run lengths, delays."""
