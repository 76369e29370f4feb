"""Text becomes a checked answer."""
