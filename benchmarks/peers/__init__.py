"""The same measurement for other systems, side by side with ours on the same servers.

Each peer is a module that only its own environment can import, `.venv-peers`: what others are built on must not
change what Punctual runs on. `run` and `beat` measure from outside, with the project's own interpreter.
"""
