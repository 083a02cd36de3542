"""Topics and who may use them, in one plan: what is read, approved and applied together. Pure."""
