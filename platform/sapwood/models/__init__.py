"""Embedders behind one small protocol, and the offline defaults."""
