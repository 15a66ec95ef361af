"""Reading and writing tables: files and dialects, roles of columns, and encoding of columns as features."""
