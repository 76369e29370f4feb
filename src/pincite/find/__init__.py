"""A question becomes ranked passages."""
