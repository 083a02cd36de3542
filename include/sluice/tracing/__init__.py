"""What became of one record: where it is stored, how it was judged, and which intervals are made of it."""
