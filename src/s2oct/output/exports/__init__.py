"""Trees as text and as programs in other languages."""
