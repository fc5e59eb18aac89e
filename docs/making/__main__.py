"""Writes the made parts of the documentation."""

from docs.making.pages import write

if __name__ == "__main__":
    for path in write():
        print(f"Wrote {path}.")
