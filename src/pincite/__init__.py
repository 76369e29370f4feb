"""Answers from your own documents, every sentence pinned to the exact place it came from."""
