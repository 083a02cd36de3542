"""The pages, one module each: what is requested, what is shown."""
