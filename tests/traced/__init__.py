"""An app whose task traces what it does itself, as a user's would."""
