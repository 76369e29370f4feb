"""One file for each way to run a generator."""
