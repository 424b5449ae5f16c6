"""What an agent may reach, and what nobody may read: sandbox, hosts, secrets."""
