"""Who drives loops: this process, one in the background, a server, a machine of a cluster."""
