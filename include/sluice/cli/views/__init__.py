"""Tables and lines that commands print."""
