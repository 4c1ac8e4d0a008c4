"""A tab of Chromium for the tests of pages."""

from collections.abc import Iterator

import pytest
from support.chromium import Page, browser


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[Page]:
    """A tab as wide as a desktop, which meets no error of a script and no dialog. Modules may have their own."""
    place = tmp_path_factory.mktemp("browser")
    with browser(place / "profile", place) as page:
        page.size(1400, 900, False)
        yield page
    assert page.errors == []
    assert page.dialogs == []
