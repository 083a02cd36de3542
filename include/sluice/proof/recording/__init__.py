"""What is kept of a proof: its report, and the page that shows it."""
