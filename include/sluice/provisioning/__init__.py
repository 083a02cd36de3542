"""Topics and who may use them: one plan that is approved and applied together."""
