"""The middleware of the API: authentication, scopes, validation against the OpenAPI document, and idempotency."""
