"""All specs of a project together: units, streams, and what each needs."""
