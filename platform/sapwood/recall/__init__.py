"""Finding things again: queries, ranking, hits."""
