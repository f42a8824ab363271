"""The Markdown vault: paths, front matter, manifests, atomic batches, and what people changed by hand."""
