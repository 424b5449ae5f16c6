"""Chaos: loops of every kind, driven by agents that misbehave, while a harness kills, fills, flips, freezes and contradicts.

What it does follows from the seed alone; when exactly each blow falls is up to the machine. After each blow and at the end
it looks whether what untildone promises still holds. See README.md beside this file.
"""
