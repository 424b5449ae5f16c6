"""What the inbox, the list of loops and the money page show, as values."""
