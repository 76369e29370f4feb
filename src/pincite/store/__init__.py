"""One source of truth and the indexes derived from it."""
