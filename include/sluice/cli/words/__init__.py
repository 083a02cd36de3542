"""What codes and words of the output mean: `sluice explain`."""
