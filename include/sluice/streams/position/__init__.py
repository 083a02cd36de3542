"""Where a stream reads: checkpoints, epochs, starts and resets of its position."""
