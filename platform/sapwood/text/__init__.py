"""Pure functions over text: normalising, folding, tokens, borders, Markdown, dates, names, redaction."""
