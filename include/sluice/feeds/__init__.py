"""Feeds: reproducible sources of records, published to a topic with a manifest of what was sent."""
