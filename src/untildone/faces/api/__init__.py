"""The API: REST and server-sent events over `operations`. `app.create_app` makes it, `server.serve` runs it."""
