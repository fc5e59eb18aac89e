"""The pages that people look at: drawn on the server, updated in place each second.

A view translates: who looks, at what, one call, a template. What is counted is in `jobs.stats`, what is done in
`jobs.services` and `jobs.dead_letters`, where the API and the admin go too.
"""
