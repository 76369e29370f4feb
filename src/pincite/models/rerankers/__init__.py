"""Rerankers: question and passage are read together."""
