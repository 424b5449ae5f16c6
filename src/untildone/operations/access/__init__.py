"""Who may use a server, and for what: named tokens, sessions of browsers, login codes, and the limit of wrong tries."""
