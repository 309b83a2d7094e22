"""Lists of what there is: algorithms, their settings, plugins."""


def test_a_list_that_is_not_on_a_terminal_has_one_line_a_row(leaseboard):
    listed = leaseboard("list", "algorithms").out.splitlines()
    assert listed[0] == "Algorithms"
    assert all(len(line.split("  ")) >= 3 for line in listed[1:])
    settings = [line.split() for line in leaseboard("list", "online-automl").out.splitlines()]
    assert ["delta", "0.1"] in settings
    assert ["memory", "1000.0"] in settings
