"""The card says what a candidate is, which data it learned, its scores and where."""

from __future__ import annotations

import math
from dataclasses import replace

from leaseboard.tasks.live.card import card


def card_of(shop, **columns):
    live = replace(shop.live, contract=shop.contract())
    live.contract = live.contract.model_copy(
        update={"columns": {**live.contract.columns, **columns}}
    )
    return card(live, shop.record(), shop.record().champion)


def test_before_any_label_it_says_so(shop):
    shop.update()
    assert "No label has come yet." in card_of(shop)
    assert shop.record().scores(1, []) == {}


def test_it_shows_scores_by_day_weekday_and_category(shop):
    for _ in range(4):
        shop.update()
    reported = card_of(shop)
    sections = [line for line in reported.splitlines() if line.startswith("#")]
    assert sections == ["# sales: candidate 1", "## Data", "## Scores", "## By weekday",
                        "## By shop", "## Importance of columns", "## Weights of members",
                        "## Limits", "## Contract"]  # fmt: skip
    table = reported.partition("| Growth of the loss |")[2]
    assert table.splitlines()[2].startswith("| price | ")
    assert "\n| Fourier features | " in reported
    assert "| day | rows | loss | mae | rmse | coverage | skill |" in reported
    assert "| 2026-01-04 | 40 |" in reported
    assert "| 3 days | 120 |" in reported
    assert "| Sunday | 40 |" in reported
    assert "has learned 160 rows" in reported.replace("\n", " ")
    assert "| price | number | low -10.0, high 10.0 |" in reported
    record = shop.record()
    scores = record.scores(1, [*record.days])
    assert 0.5 < scores["skill"] < 1
    assert math.isclose(scores["loss"], scores["rmse"] ** 2)


def test_characters_of_names_break_no_table(shop):
    shop.update().update()
    column = shop.contract().columns["shop"].model_copy(update={"categories": ["x|y", "z\nw"]})
    assert "| a\\|b | category |" in card_of(shop, **{"a|b": column})
