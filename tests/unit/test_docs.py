"""The documentation says what the code does."""

import xml.etree.ElementTree as ElementTree

from docs.making.pages import PICTURE, made


def test_the_made_parts_of_the_documentation_are_up_to_date() -> None:
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run python -m docs.making"


def test_the_picture_can_be_drawn() -> None:
    assert ElementTree.parse(PICTURE).getroot().tag.endswith("svg")
