"""What is decided: events of devices put in order, run through monitors, counted, drawn for labels."""
