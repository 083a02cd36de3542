"""The command that shows what a change of code means, tries it, and promotes it."""
