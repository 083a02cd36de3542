"""Topics as data: declared and actual state, the plan between them, and the port through which it is applied."""
