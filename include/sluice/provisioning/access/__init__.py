"""Access as data: what every declared principal needs and has, the plan between them, and the port to apply it."""
