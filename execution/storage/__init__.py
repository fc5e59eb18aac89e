"""Where files are kept, besides this machine's disk."""
