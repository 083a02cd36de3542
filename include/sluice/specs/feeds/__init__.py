"""What can be declared of a feed: where its records come from, what a simulator makes, how a live one is followed."""
