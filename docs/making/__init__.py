"""Makes those parts of the documentation that the code can say better than a person.

`python -m docs.making` writes them anew; a test fails while they say anything else than the code does. All
of it is about 2024, a year whose clock changes no government will change any more.
"""
