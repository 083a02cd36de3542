"""What is removed from a project's tables because nobody needs it any more."""
