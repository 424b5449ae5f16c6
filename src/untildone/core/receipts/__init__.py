"""What the end of a loop proves, and the documents that say so."""
