"""HTTP: one file a group of routes."""
