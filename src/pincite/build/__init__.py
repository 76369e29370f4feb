"""A document becomes passages, and passages are committed."""
