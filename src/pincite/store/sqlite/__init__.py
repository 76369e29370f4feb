"""The embedded store: one SQLite file as the truth, and indexes derived from it."""
