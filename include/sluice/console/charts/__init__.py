"""Charts as SVG: axes with ticks and units, values in words, and the same values as a table. Pure."""
