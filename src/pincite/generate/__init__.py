"""Passages become text."""
