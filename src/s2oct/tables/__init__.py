"""Tables in and out: files and dialects, roles of columns, and how columns become features."""
