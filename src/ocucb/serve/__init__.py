"""Decisions over HTTP, on SQLite or PostgreSQL, with a page to watch them: ``ocucb serve``.

Needs ``pip install 'ocucb[serve]'``; nothing else in the package imports it.

    app (HTTP)  →  service (ids, repeats, expiry)  →  machine (what is played)  →  ocucb.Bandit
                        ↓
                     storage (SQL)

`ocucb.serve.app.create_app` makes an application that any ASGI server can run,
`ocucb.serve.client.Client` talks to one. docs/service.md is the guide.
"""
