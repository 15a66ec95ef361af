"""Tables in and out: files and dialects, roles of columns, features, and fits and predictions of whole tables."""
