"""Verifiers judge whether a text carries a claim."""
