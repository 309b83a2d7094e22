from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import Suite, load_suite, members, suite_names
from leaseboard.tasks.machine.yaml_files import load_yaml

MINIMAL = "title: t\ndata: ['sklearn:wine']\nalgorithms: [vanilla]\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    return path


def message(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        load_yaml(write(tmp_path, text), Suite)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_names_alone_stand_for_data_and_algorithms(tmp_path):
    suite = load_yaml(write(tmp_path, MINIMAL), Suite)

    assert [entry.data for entry in suite.data] == ["sklearn:wine"]
    assert [contender.title for contender in suite.algorithms] == ["vanilla"]


def test_unknown_key_names_line_and_nearest(tmp_path):
    assert "suite.yaml:4: unknown key 'budgett': did you mean 'budget'?" in message(
        tmp_path, MINIMAL + "budgett: 3\n"
    )


def test_a_misspelt_key_is_told_before_the_one_that_is_missing_for_it(tmp_path):
    text = message(tmp_path, MINIMAL.replace("algorithms:", "algoritms:"))

    assert "unknown key 'algoritms': did you mean 'algorithms'?" in text
    assert "Field required" not in text


def test_wrong_type_names_line_and_key_path(tmp_path):
    text = message(tmp_path, MINIMAL + "limits:\n  wall_seconds: soon\n")

    assert "suite.yaml:5: limits.wall_seconds:" in text
    assert "'soon'" in text


@pytest.mark.parametrize(
    ("addition", "words"),
    [
        ("repetitions: 0", "greater than or equal to 1"),
        ("seeds: []", "at least 1 item"),
        ("seeds: [-1]", "greater than or equal to 0"),
        ("limits: {memory_mb: -5}", "greater than 0"),
        ("tracking: {configurations: some}", "pattern"),
        ("normalise: {zero: vanilla, one: nobody}", "no algorithm here"),
        ("title: again", "stands twice"),
        ("budget: [", "suite.yaml:5"),
        ("repetitions: 1000000000", "repetitions: Input should be less than or equal to 100000"),
        ("repetitions: 1" + "0" * 3000, "repetitions: Input should be less than or equal to"),
        ("repetitions: 1e9", "valid integer"),
        ("seed: 1000000000000000000000000000000", "less than 2147483648"),
        ("seeds: [9999999999]", "less than 2147483648"),
        ("budget: .inf", "less than or equal to 1000000000000000"),
        ("budget: .nan", "less than or equal to"),
        ("budget: 1.0e+300", "less than or equal to 1000000000000000"),
        ("limits: {wall_seconds: .inf}", "less than or equal to 1000000000"),
        ("limits: {memory_mb: 1.0e+300}", "less than or equal to 1000000000"),
        ("description: " + "x" * 20_000, "at most 10000 characters"),
        ("title: " + "x" * 5_000_000, "characters: a configuration has at most 1000000"),
        ("? " + "x" * 2000 + "\n: 1", "unknown key 'xxxx"),
        ("title: " + "[" * 1_000 + "]" * 1_000, "nested too deeply"),
        ("title: " + "{a: " * 100 + "}" * 100, "suite.yaml:4: nested too deeply"),
        ("title: " + "[" * 900_000, "suite.yaml:4: nested too deeply"),
        ("title:\n" + "- " * 400_000, "suite.yaml:5: nested too deeply"),
        ("bench: &a {a: *a}", "nested too deeply"),
    ],
)
def test_out_of_range_values_are_refused(tmp_path, addition, words):
    said = message(tmp_path, MINIMAL + addition + "\n")

    assert words in said
    assert len(said) < 4000


@pytest.mark.parametrize("key", ["1", "2.5", "true", "null", "2026-01-01"])
@pytest.mark.parametrize("deep", ["{KEY: 2, a: 3}", "{w: {KEY: 2, a: 3}}", "{w: [1, [{KEY: 2}]]}"])
@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("data: [d]\nalgorithms:\n- name: vanilla\n  settings: VALUE", 5),
        ("data: [d]\nalgorithms:\n- name: vanilla\n  bench: VALUE", 5),
        ("algorithms: [vanilla]\ndata:\n- data: d\n  bench: VALUE", 5),
        ("algorithms: [vanilla]\ndata: [d]\nbench: VALUE", 4),
    ],
)
def test_a_key_that_is_no_text_names_file_and_line(tmp_path, place, line, deep, key):
    """JSON has none, and keys of two types have no order: it was an internal error."""
    value = deep.replace("KEY", key)
    text = message(tmp_path, "title: t\n" + place.replace("VALUE", value))

    assert f"suite.yaml:{line}: " in text
    assert "text" in text or "valid string" in text


def test_a_suite_of_more_jobs_than_can_be_kept_is_refused(tmp_path):
    many = MINIMAL.replace("[vanilla]", "[vanilla, chacha]") + "repetitions: 100000\n"

    assert "100000 of 2 algorithms on 1 data sets are 200000 jobs: a suite" in message(
        tmp_path, many
    )


@pytest.mark.parametrize("key", ["name", "label"])
def test_a_name_without_end_is_refused_in_a_short_line(tmp_path, key):
    text = f"title: t\ndata: ['sklearn:wine']\nalgorithms: [{{name: vanilla, {key}: {{}}}}]\n"
    said = message(
        tmp_path, text.replace("{}", "x" * 50_000).replace("name: vanilla, name", "name")
    )

    assert f"suite.yaml:3: algorithms.0.{key}: String should have at most" in said
    assert len(said) < 500


def test_aliases_are_taken_unless_they_say_millions_of_values(tmp_path):
    shared = "bench: &a {x: 1}\n"
    nines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    bomb = "bench:\n  a0: &a0 [lol]\n" + "".join(f"  {line}\n" for line in nines)

    assert load_yaml(write(tmp_path, MINIMAL + shared), Suite).bench == {"x": 1}
    assert "suite.yaml:11: more than 1000000 values" in message(tmp_path, MINIMAL + bomb)


def test_labels_and_data_must_differ(tmp_path):
    assert "label 'vanilla' stands twice" in message(
        tmp_path, "title: t\ndata: [a]\nalgorithms: [vanilla, vanilla]\n"
    )
    assert "data 'a' stands twice" in message(
        tmp_path, "title: t\ndata: [a, a]\nalgorithms: [vanilla]\n"
    )


def test_same_work_under_two_labels_is_refused():
    suite = Suite.model_validate(
        {"title": "t", "data": ["a"], "seeds": [1], "bench": {"max_rows": 5},
         "algorithms": ["vanilla", {"name": "vanilla", "label": "again",
                                    "bench": {"max_rows": 5}}]}
    )  # fmt: skip

    with pytest.raises(UsageError, match="vanilla and again on a"):
        suite.jobs()


def test_listed_seeds_are_literal_and_derived_ones_share_the_environment():
    common = {"title": "t", "data": ["a", "b"], "algorithms": ["vanilla", "exhaustive"]}
    listed = Suite.model_validate(common | {"seeds": [7, 8]}).jobs()
    derived = Suite.model_validate(common | {"repetitions": 2}).jobs()

    assert {(job.seed, job.environment_seed) for job in listed} == {(7, 7), (8, 8)}
    assert len({job.seed for job in derived}) == len(derived) == 8
    assert len({job.environment_seed for job in derived}) == 4
    assert derived[0].environment_seed == derived[1].environment_seed


def test_suites_cannot_be_named_by_a_path_outside_the_folder(tmp_path):
    (tmp_path / "suites").mkdir()

    with pytest.raises(UsageError, match="unknown suite"):
        load_suite("../secret", tmp_path)


def test_every_shipped_suite_is_valid_and_names_known_algorithms():
    conf = Path(__file__).resolve().parents[4] / "conf"

    assert {"quick", "ci", "paper-chacha"} <= set(suite_names(conf))
    for name in suite_names(conf):
        for member in members(name, conf):
            assert load_suite(member, conf).jobs()


def test_a_speed_suite_runs_one_job_at_a_time():
    common = {"title": "t", "data": ["a"], "algorithms": ["vanilla"]}

    assert Suite.model_validate(common | {"kind": "speed"}).workers(8) == 1
    assert Suite.model_validate(common).workers(8) == 8


def test_an_algorithm_under_two_labels_is_a_duplicate(tmp_path):
    text = MINIMAL.replace("[vanilla]", "[vanilla, {name: vanilla, label: again}]")

    assert "vanilla and again are the same work" in message(tmp_path, text)


def test_a_job_of_the_suite_of_tables_is_one_of_the_larger_suite():
    conf = Path(__file__).parents[4] / "conf"
    of = {name: load_suite(name, conf) for name in ("tables", "peers-tables")}
    keys = {
        name: {job.key(job.data, "version") for job in suite.jobs()} for name, suite in of.items()
    }

    assert keys["tables"] < keys["peers-tables"]
    assert of["tables"].limits == of["peers-tables"].limits
