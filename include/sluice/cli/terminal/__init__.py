"""What all commands share: output, colours, confirmation, times and completion."""
