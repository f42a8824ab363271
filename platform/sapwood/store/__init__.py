"""chunks.db: schema, migrations and every query. The only SQL of the project."""
