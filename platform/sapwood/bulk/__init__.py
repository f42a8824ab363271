"""Imports of folders and files, and the report that a person reads in the morning."""
