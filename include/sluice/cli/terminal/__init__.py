"""Parts that all commands share: output, confirmation, times and completion."""
