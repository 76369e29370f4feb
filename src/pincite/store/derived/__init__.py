"""Indexes that can be thrown away and made anew."""
