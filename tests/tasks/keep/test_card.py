"""The card says what a lineage is, which data it learned, how it did and where."""

from __future__ import annotations

import math

from leaseboard.tasks.keep.card import TrackRecord, card
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.store.live_tables import in_role


def read(shop):
    kept = shop.kept
    record = TrackRecord.of(kept.keep, shop.contract(), kept.state)
    return record, in_role(record.lineages, CHAMPION)


def test_before_any_label_it_says_so(shop):
    shop.turn()
    record, champion = read(shop)
    assert "No label has come yet." in card(record, champion)
    assert record.scores(champion) == {}


def test_it_tells_scores_by_day_weekday_and_category(shop):
    for _ in range(4):
        shop.turn()
    record, champion = read(shop)
    told = card(record, champion)
    sections = [line for line in told.splitlines() if line.startswith("#")]
    assert sections == ["# sales: champion, lineage 1", "## Data", "## Scores", "## By weekday",
                        "## By shop", "## Limits", "## Contract"]  # fmt: skip
    assert "| day | rows | loss | mae | rmse | coverage | skill |" in told
    assert "| 2026-01-04 | 40 |" in told
    assert "| 3 days | 120 |" in told
    assert "| Sunday | 40 |" in told
    assert "has learned 160 rows" in told.replace("\n", " ")
    assert "| price | number | low -10.0, high 10.0 |" in told
    scores = record.scores(champion)
    assert 0.5 < scores["skill"] < 1
    assert math.isclose(scores["loss"], scores["rmse"] ** 2)


def test_what_stands_in_names_breaks_no_table(shop):
    shop.turn().turn()
    record, champion = read(shop)
    column = record.contract.columns["shop"].model_copy(update={"categories": ["x|y", "z\nw"]})
    columns = {**record.contract.columns, "a|b": column}
    found = TrackRecord(record.keep, record.contract.model_copy(update={"columns": columns}),
                   record.lineages, record.batches, record.days, record.rows)  # fmt: skip
    assert "| a\\|b | category |" in card(found, champion)
