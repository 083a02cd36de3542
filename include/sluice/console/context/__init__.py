"""What pages are given: who asks, the project, and what was read a moment ago."""
