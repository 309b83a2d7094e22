"""Files of four formats: round trips, and one clear line for each malformed one."""

from csv import writer as csv_writer

import arff
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch import columns, files
from leaseboard.tasks.fetch.files import read_csv
from leaseboard.tasks.fetch.loading import load

FRAME = pd.DataFrame({
    "real": [1.5, -2e9, 0.1], "whole": [7, -8, 9], "word": ["a b", "it's", "50%"],
    "y": [0.5, 1.5, 2.5],
})  # fmt: skip


def write_arff(frame, path):
    kinds = {"word": sorted(set(frame["word"]))}
    content = {
        "relation": "test",
        "attributes": [(name, kinds.get(name, "NUMERIC")) for name in frame],
        "data": frame.to_numpy(dtype=object).tolist(),
    }
    path.write_text(arff.dumps(content), encoding="utf-8")


def test_every_format_gives_the_same_data(tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    FRAME.to_csv(tmp_path / "data.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "data.parquet")
    write_arff(FRAME, tmp_path / "data.arff")

    loaded = [load(f"file:{path}") for path in tmp_path.iterdir()]
    for data in loaded:
        for name in data.features:
            assert data.features[name].tolist() == FRAME[name].tolist()
        assert (data.task, data.target.tolist()) == ("regression", FRAME["y"].tolist())
    assert len({data.digest for data in loaded}) == 1


def test_a_libsvm_file_is_dense_its_columns_are_indices_and_its_label_is_the_target(tmp_path):
    X = np.array([[0.0, 1.5, 0.0], [2.5, 0.0, -1.0], [0.0, 0.0, 4.0]])
    dump_svmlight_file(X, [1, -1, 1], str(tmp_path / "data.libsvm"))
    dump_svmlight_file(X[:1], [1], str(tmp_path / "piece.libsvm"))

    data = load(str(tmp_path / "data.libsvm"))

    assert data.features.to_numpy().tolist() == X.tolist()
    assert [*data.features] == ["f0", "f1", "f2"]
    assert files.read(str(tmp_path / "piece.libsvm")).frame["f1"].tolist() == [1.5]
    assert (data.task, data.target.tolist()) == ("classification", ["1", "-1", "1"])


def test_decimal_commas_are_read_where_commas_do_not_separate(tmp_path):
    path = tmp_path / "temperature.csv"
    path.write_text("a;b;y\n1,5;u,v;3,25\n-2;w;4\n?;u,v;4,5\n", encoding="utf-8-sig")

    data = load(str(path))

    assert data.features["a"].tolist()[:2] == [1.5, -2.0]
    assert data.features["a"].isna().tolist() == [False, False, True]
    assert data.features["b"].tolist() == ["u,v", "w", "u,v"]
    assert data.target.tolist() == [3.25, 4.0, 4.5]


def csv(tmp_path, *columns, separator=","):
    path = tmp_path / "rows.csv"
    rows = [separator.join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([separator.join("abcdefgh"[: len(columns)]), *rows]) + "\n")
    return read_csv(path)


@pytest.mark.parametrize("gap", ["-", ".", "N/A", "#N/A N/A", "-1.#QNAN"])
def test_marks_of_gaps_are_gaps_among_numbers_booleans_and_dates_and_else_texts(tmp_path, gap):
    quoted = f'"{gap}"'
    days = ["2024-01-02", gap, "2024-01-03"]
    found = csv(tmp_path, ["1", gap, "2.5"], ["true", gap, "false"], days, ["u", gap, "1"],
                [gap] * 3, ["1", quoted, "2"])  # fmt: skip

    assert found.isna().iloc[1].tolist() == [True, True, True, False, True, True]
    assert found["a"].dtype == found["f"].dtype == np.float64
    assert found["b"].dropna().tolist() == [True, False]
    assert columns.is_date(columns.tidy(found["c"]))
    assert found["d"].tolist() == ["u", gap, "1"]
    assert found["e"].isna().all()


def test_a_malformed_file_is_one_clear_line(tmp_path):
    for name, content, message in (
        ("empty.csv", b"", "0 rows: the file is empty.*: put the names"),
        ("head.csv", b"a,y\n", "0 rows: at least two are needed"),
        ("ragged.csv", b"a,b,y\n1,2,3\n4,5\n", "#3: Expected 3 columns, got 2: give each"),
        ("twice.csv", b"a,a,y\n1,2,3\n4,5,6\n", "column name 'a' occurs twice"),
        ("latin.csv", "a,y\n\u00fc,1\nb,2\n".encode("latin-1"), "column 'a' is not UTF-8"),
        ("bad.arff", b"@relation x\nrubbish\n", "malformed arff"),
        ("cell.arff", b"@relation x\n@attribute a {u,v}\n@attribute y real\n@data\nw,1\n",
         "malformed arff: .*w"),
        ("date.arff", b"@relation x\n@attribute a date\n@attribute y real\n@data\n1,1\n",
         "line 2. A type is numeric, .*make a date a number"),
        ("bad.libsvm", b"1 1:2\nx 1:2\n", "malformed libsvm"),
        ("none.libsvm", b"1\n2\n", "no features: no line has an index:value"),
        ("wide.libsvm", b"1 1:1\n0 999999999:1\n", "columns need 7 GiB as a dense table"),
        ("data.xls", b"a", "unknown file format .*'.xls'"),
        ("bad.parquet", b"PAR1rubbish", "not a readable parquet file: .*: write the file again"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)

        with pytest.raises(UsageError, match=message) as caught:
            load(f"file:{tmp_path / name}")
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a\n\nb", 'x\r\ny says "a, b"'])
@pytest.mark.parametrize("rows", [3, 30_000])
def test_line_breaks_within_quotes_are_read_at_any_size(tmp_path, text, rows):
    path = tmp_path / "notes.csv"
    with path.open("w", newline="") as file:
        writer = csv_writer(file)
        writer.writerow(["note", "size"])
        writer.writerows((f"{text}{i}", i) for i in range(rows))
        file.write("\n\n")
    read = files.read_csv(path)
    assert read["note"].tolist() == [f"{text}{i}" for i in range(rows)]
    assert read["size"].tolist() == list(range(rows))


def test_separators_are_looked_for_outside_of_quotes_and_bars_last(tmp_path):
    for header, names in (
        ("a|b|c,d", ["a|b|c", "d"]),
        ('"a, b, c"|d', ["a, b, c", "d"]),
        ("sep=;\na;b", ["a", "b"]),
        ("SEP=|\r\na|b", ["a", "b"]),
        ("a|b", ["a", "b"]),
    ):
        path = tmp_path / "t.csv"
        path.write_text(f"{header}\n1{header[-2]}2\n")
        assert files.read_csv(path).to_dict("list") == {names[0]: [1], names[1]: [2]}


def test_a_header_that_names_no_column_is_reported_on_reading(tmp_path):
    for text, words in (
        (",b\n1,2\n", "column 1 has no name"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
        ("# made by a program\na,b\n1,2\n", "Expected 1 columns, got 2"),
    ):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(DataError, match=words):
            files.read_csv(path)


def test_arff_as_weka_and_openml_write_it(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        "% made by hand\n@relation t\n@attribute size numeric % in metres\n"
        "@attribute 'a b' real [0,10]\n@ATTRIBUTE c {x,'y%z'} % kinds\n@data\n"
        "1\t2.5\tx\n3\t?\t'y%z'\n"
    )
    read = files.read_arff(path)
    assert read["size"].tolist() == [1, 3]
    assert read["a b"].tolist()[0] == 2.5
    assert read["c"].tolist() == ["x", "y%z"]


def test_an_index_with_a_name_is_the_first_column(tmp_path):
    for index, name in (
        (pd.date_range("2026-01-01", periods=2, name="stamp"), "stamp"),
        (pd.Index(["a", "b"], name="key"), "key"),
        (pd.RangeIndex(5, 7, name="row"), "row"),
        (pd.Index(["a", "b"]), None),
        (pd.RangeIndex(2), None),
    ):
        path = tmp_path / "t.parquet"
        pd.DataFrame({"x": [1, 2]}, index=index).to_parquet(path)
        read = files.read_parquet(path)
        assert list(read) == [*filter(None, [name]), "x"]
        if name:
            assert read[name].tolist() == index.tolist()


def test_a_column_that_is_text_by_contract_keeps_its_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("id;x\n4,01;1,5\n007;2,5\n")
    frame = files.read(str(tmp_path / "a.csv"), texts=("id",)).frame

    assert frame["id"].tolist() == ["4,01", "007"]
    assert frame["x"].tolist() == [1.5, 2.5]
