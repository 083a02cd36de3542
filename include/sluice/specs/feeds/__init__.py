"""What can be declared of a feed: where its records come from, and how a live source is followed."""
