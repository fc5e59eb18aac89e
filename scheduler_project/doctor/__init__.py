"""Looks an installation over and says what is wrong, each finding with the fact and the remedy.

Every check is a function that asks one question and returns findings; none of them changes anything. What is safe to
mend is mended by `repairs`, when somebody asks for it.
"""
