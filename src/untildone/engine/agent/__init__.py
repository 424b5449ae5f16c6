"""Agent programs at work: a turn, how one is asked, and what a program leaves open or running after it."""
