"""Something to look at for whoever runs Punctual for the first time. An app only where DEMO is set."""
