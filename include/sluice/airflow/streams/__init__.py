"""Tasks that claim, watch and reconcile streams."""
