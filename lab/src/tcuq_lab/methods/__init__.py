"""Methods that say how far an answer can be trusted, one a file, behind one interface."""
