"""Parts of every server: repeated requests, the caller of a request, and a bounded standard input."""
