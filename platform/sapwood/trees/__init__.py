"""The three summary trees that grow out of one stream of leaves: by source, by topic, by day."""
