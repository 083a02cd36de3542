"""The words that Sluice uses and prints, and their meaning: `sluice explain`."""
