"""Champions of streams are explained, on the page, too; others are not."""

import pytest

from leaseboard.tasks.live.explanation import COLUMNS, HEADS, MEMBERS, explanation_of
from leaseboard.tasks.live.page import build
from tests.tasks.live.shops import Shop


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_page_shows_columns_and_members_of_a_champion(tmp_path, task):
    shop = Shop(tmp_path, task)
    assert explanation_of(shop.record(), shop.record().champion) == {}
    for _ in range(2):
        shop.update()
    found = explanation_of(shop.record(), shop.record().champion)
    assert found[COLUMNS]["Column"][0] == "price"
    assert tuple(found[MEMBERS]) == HEADS
    page = build(shop.record(), tmp_path / "page").read_text()
    assert 'id="explanation-1"' in page
    assert "Fourier features" in page


def test_a_race_without_members_has_columns_alone(tmp_path):
    shop = Shop(tmp_path, algorithm="chacha-literal")
    shop.update()
    assert list(explanation_of(shop.record(), shop.record().champion)) == [COLUMNS]
    baseline = shop.record().baselines[0]
    assert explanation_of(shop.record(), baseline) == {}
