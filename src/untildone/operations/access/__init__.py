"""Access to a server: named tokens, browser sessions, login codes, and the limit of failed attempts."""
