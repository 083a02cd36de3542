"""Forms in which the world writes values: paths into objects, times as text, lines of text. Pure, and known to all."""
