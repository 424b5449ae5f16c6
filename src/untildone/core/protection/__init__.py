"""What agents may reach, and what must stay secret: sandbox, hosts, secrets."""
