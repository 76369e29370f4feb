"""One file for each kind of format."""
