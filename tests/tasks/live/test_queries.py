import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from leaseboard.tasks.live.rows import identify
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.live.sources import pending


class Shop:
    """Table of sales, and updates of a live model that reads it."""

    def __init__(self, address, taken, number="integer", **given):
        self.engine, self.taken = create_engine(address), taken
        self.data = DataSettings(**{
            "source": f"sql:{address}",
            "query": "select number, price, revenue from sales where number > :watermark;",
            "watermark": "number", "target": "revenue", "overlap": 4, "batch_rows": 5,
        } | given)  # fmt: skip
        self.write(f"create table sales (number {number}, price numeric, revenue integer)")

    def write(self, *statements):
        with self.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    def sell(self, *numbers):
        self.write(*(f"insert into sales values ({each!r}, 1.5, null)" for each in numbers))

    def update(self):
        found = []
        for batch in pending(self.data, self.taken):
            found.append(batch)
            if batch.frame is not None:
                self.taken.take(batch)
        return found

    def numbers(self):
        return [batch.frame["number"].tolist() for batch in self.update()]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def address(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shop.db"
    return request.getfixturevalue("create_database")(f"shop_{tmp_path.name}")


@pytest.fixture
def shop(address, taken):
    found = Shop(address, taken)
    yield found
    found.engine.dispose()


def test_each_row_comes_once_in_pieces(shop):
    shop.sell(*range(1, 13))

    assert shop.numbers() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert shop.numbers() == []
    shop.sell(13, 14)
    assert shop.numbers() == [[13, 14]]
    assert shop.numbers() == []


def test_a_row_that_is_written_late_is_not_lost(shop):
    shop.sell(*range(1, 6), 7, 8)
    shop.update()
    shop.sell(6)

    assert [6 in batch for batch in shop.numbers()] == [True]
    assert shop.numbers() == []


def test_a_rejected_piece_comes_again_before_those_after_it(shop):
    shop.sell(*range(1, 13))
    rejected_batches = list(pending(shop.data, shop.taken))

    assert [batch.frame["number"].tolist() for batch in rejected_batches] == [[1, 2, 3, 4]]
    assert shop.numbers() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1, 2]))), max_size=5),
    st.sampled_from([1, 2, 3, 50]),
)
def test_each_row_is_known_once_however_they_come(
    tmp_path_factory, nothing_taken, updates, batch_rows
):
    """Each update adds some rows below those of the update before; rows have no id."""
    folder = tmp_path_factory.mktemp("shop")
    shop = Shop(f"sqlite:///{folder}/shop.db", nothing_taken(), batch_rows=batch_rows)
    ids, written, at = set(), 0, 0
    for rows in updates:
        for ahead, price in rows[:4]:  # as many as the overlap
            shop.write(f"insert into sales values ({at + ahead}, {price}, null)")
        written += len(rows[:4])
        at += 2
        for batch in shop.update():
            ids |= set(identify(batch.frame, shop.data))

    assert len(ids) == written
    shop.engine.dispose()


@pytest.mark.parametrize(
    ("number", "values"),
    [
        ("text", ["#1", "a", "b"]),
        ("real", [-1e30, 0.5, 7.0]),
        ("numeric", [-3, 2, 5]),
        ("date", ["0990-01-01", "2026-01-01", "2026-01-02"]),
        ("timestamp", ["0990-01-01 10:00:00", "2026-01-01 00:00:00", "2026-01-02 00:00:00.5"]),
    ],
)
def test_a_watermark_is_any_column_that_grows(address, taken, number, values):
    shop = Shop(address, taken, number=number, overlap=0)
    shop.sell(*values[:2])

    assert list(map(len, shop.numbers())) == [2]
    shop.sell(values[2])
    assert list(map(len, shop.numbers())) == [1]
    assert shop.numbers() == []
    shop.engine.dispose()


def test_a_password_comes_from_the_environment_and_is_not_shown(taken, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "5E/CR@ET")
    data = DataSettings(
        source="sql:postgresql://me:$SHOP_PASSWORD@127.0.0.1:1/shop", target="y", watermark="n",
        query="select * from t where n > :watermark",
    )  # fmt: skip

    (batch,) = pending(data, taken)

    assert "5E" not in batch.fault
    assert "127.0.0.1" in batch.fault
