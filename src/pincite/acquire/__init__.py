"""A path becomes a source, a source becomes a document."""
