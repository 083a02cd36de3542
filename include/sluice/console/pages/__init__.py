"""The pages, one module each: what is asked, what is shown."""
