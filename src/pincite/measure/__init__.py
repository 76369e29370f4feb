"""Answers become numbers."""
