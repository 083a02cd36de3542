"""`sluice serve`: newest values as pages that move, answers by key, and events; and the alerts of their rules."""
