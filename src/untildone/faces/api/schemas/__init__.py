"""The shapes of requests and responses: models, problems, and how values of the core are described."""
