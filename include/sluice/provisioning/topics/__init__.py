"""Topics: what is declared, what is there, and the plan between them."""
