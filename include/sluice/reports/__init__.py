"""Pages that explain a result to a person: one HTML file each, readable offline and for ever."""
