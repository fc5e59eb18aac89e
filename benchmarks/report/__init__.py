"""What a run came to, for people and for scripts: a table, pictures, and one line of figures.

Everything here is told the results and measures nothing, so that it can be tried with made-up ones.
"""
