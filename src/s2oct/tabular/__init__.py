"""Tables in and out: files and their dialects, the roles of columns, and how columns become features."""
