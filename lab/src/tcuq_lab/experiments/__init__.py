"""What is measured, as declarations: streams, rows, metrics, and what is compared."""
