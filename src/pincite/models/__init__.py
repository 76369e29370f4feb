"""Encoders, rerankers and generators behind small protocols."""
