"""The job handlers: what grows out of a chunk once it is stored."""
