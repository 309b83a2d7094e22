"""The command times all classes of a stream and two of them."""

from benchmarks import classes


def test_all_classes_are_timed_next_to_two(capsys):
    data = "synthetic:separated?rows=60&classes=3&flip=0.2&seed=0"

    assert classes.main([data, "--rows", "50", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    each = ["3 classes", classes.TWO]
    names = [*each, *(name + classes.SINGLE for name in each)]
    assert [line[: len(max(names, key=len))].strip() for line in lines] == names
