"""Decisions over HTTP, on SQLite or PostgreSQL, with a page to watch them: ``ocucb serve``.

Needs ``pip install 'ocucb[serve]'``; nothing else in the package imports it.

    app (HTTP)  →  service  →  lanes (queues)  →  turn (a transaction)  →  machine (what is played)
                                                    ↓                        ↓
                                                  storage (SQL)            ocucb.Bandit

`ocucb.serve.app.create_app` makes an application that any ASGI server can run,
`ocucb.serve.client.Client` talks to one. docs/service.md is the guide.
"""
