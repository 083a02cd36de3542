"""Topics that exist already: the specs that describe them."""
