"""The edge: what happens to a request before a thread is spent on it, and to an answer after.

An event loop receives bodies, refuses what is too large, too slow or too much, and sends answers at the pace of their
readers. Only a request that has arrived in full is given to the WSGI application, on a bounded pool of threads.
"""
