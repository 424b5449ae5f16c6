"""What each request passes: who sent it, what it may do, whether it fits the description, and whether it was answered before."""
