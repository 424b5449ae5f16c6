"""How the values of the core are made, written as JSON and hashed: fast to import, standard library only."""
