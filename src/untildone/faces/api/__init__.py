"""The API: REST and server-sent events over the verbs. `app.create_app` makes it, `serving.serve` runs it."""
