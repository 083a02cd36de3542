"""The words that Sluice uses and prints (`sluice explain`), and the pages of its documentation (`sluice docs`)."""
