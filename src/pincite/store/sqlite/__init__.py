"""The embedded store: SQLite is the truth."""
