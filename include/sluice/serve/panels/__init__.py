"""Panels of pages: from the newest values of an output to what is shown of them. Pure."""
