"""Starting loops and going on with them."""
