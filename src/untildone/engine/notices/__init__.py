"""Tells people what a loop needs: notices, the channels that deliver them, and tokens for answers."""
