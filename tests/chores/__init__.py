"""An app with tasks for the tests' own processes, as a user's app would have them."""
