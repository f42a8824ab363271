"""The checks, group by group."""
