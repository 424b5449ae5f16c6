"""How texts are read: what an agent, a reviewer, a person or a failed command says."""
