"""Forgetting: what is to go is found and shown, taken out of everything, and wiped off the disk."""
