"""Signs of deceit in what an agent changed."""
