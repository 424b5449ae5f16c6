"""Parts of every server: requests that are repeated, in whose name they act, a standard input that ends."""
