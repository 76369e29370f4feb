"""The edges: what people and programs touch."""
