"""The dead-man's switch: notices what should have happened and did not, and tells whoever asked to be told.

Nothing that is watched is used for it. A watcher looks at the rows and at who is there, keeps incidents, and sends its
notices itself; it makes no jobs, needs no poller, executor or recoverer, and any number may run without telling
anything twice.
"""
