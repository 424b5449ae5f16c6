"""What `ProcessHands` does for each kind of action."""
