"""Pictures of numbers, drawn as SVG on the server: they need no script and no inline style.

A plot is stretched to the width it gets, so it has no text in it; its labels are HTML around it. What happens often
is one path for all, so that a page that is fetched each second stays small. Pure.
"""
