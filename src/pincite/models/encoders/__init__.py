"""One file for each way to run an encoder."""
