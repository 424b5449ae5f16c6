"""What can be done with loops: every face calls these functions and nothing below."""
