"""What pages are made of: templates, charts and calendars."""
