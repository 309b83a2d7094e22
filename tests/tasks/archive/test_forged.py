"""Forgeries that were once believed: each is refuted, left undecided, or agrees in part."""

import dataclasses
import json

import pytest
from markupsafe import escape

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.archive import bundle
from leaseboard.tasks.archive.verify import compare_with_shipped
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.environments import unit_of
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Limits, Result
from leaseboard.tasks.jobs.programs import pinned
from leaseboard.tasks.jobs.suites.suite import Contender, Data, load_suite
from leaseboard.tasks.machine.paths import shipped_conf
from leaseboard.tasks.report import build
from tests.tasks.archive.forging import BY_SECONDS, SUITE, Forger, faults, judged, ran

ONCE = SUITE.model_copy(update={"repetitions": 1})
SELECTED = BY_SECONDS.model_copy(update={"algorithms": [Contender(algorithm="full-run")]})


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Return the archive of a run of which every job is ok."""
    return ran(tmp_path_factory.mktemp("clean"), ONCE)


@pytest.fixture(scope="module")
def guided_run(tmp_path_factory):
    """Return the archive of a run that measured seconds guide."""
    return ran(tmp_path_factory.mktemp("guided"), BY_SECONDS)


@pytest.fixture
def forger(clean, tmp_path):
    return Forger(clean, tmp_path / "forged.zip")


def test_where_all_could_be_looked_at_it_agrees(clean):
    verdict = judged(clean, share=0.02)

    assert (verdict.outcome, verdict.left) == ("agreed", {})
    assert {label: (each.could_run, each.ran) for label, each in verdict.covered.items()} == {
        "paper": (1, 1),
        "vanilla": (1, 1),
    }


def test_a_unit_that_is_not_the_jobs_hides_no_score(forger):
    key = forger.key()
    forger.event(key, "Started", unit="cpu_seconds")
    forger.event(key, "Finished", score=1e-6)
    forger.result(key, score=1e-6, unit="cpu_seconds")
    (fault,) = faults(forger.write())

    assert fault.endswith("unit is 'cpu_seconds', that of its job is 'examples'")
    assert judged(forger.target).outcome == "refuted"


def test_an_environment_that_is_not_the_jobs_hides_no_other_data(forger):
    key = forger.key()
    forger.event(key, "Started", environment="systems")
    forger.result(key, environment="systems", digest="f" * 64)
    found = faults(forger.write())

    assert [fault.partition("repetition 0: ")[2][:18] for fault in found] == [
        "environment is 'sy",
        "its key " + key[:10],
    ]


def test_a_score_on_data_of_no_digest_is_a_fault(forger):
    job = next(job for job in ONCE.jobs() if job.name == "vanilla")
    forger.result(key := forger.key(), digest="")
    forger.rename(key, job.key("", job.data))

    assert faults(forger.write())[0].endswith("no digest of its data")


def test_a_failure_that_is_the_senders_word_leaves_it_agreed_in_part(clean, tmp_path):
    for status in ("crash", "timeout", "memout"):
        forger = Forger(clean, tmp_path / "forged.zip")
        forger.result(key := forger.key("paper"), status=status, score=None, reason="it failed")
        forger.manifest["outcomes"][key] = status
        verdict = judged(forger.write())

        assert verdict.outcome == "agreed in part"
        assert verdict.covered["paper"].could_run == 0
        assert verdict.left == {f"{status}: that it failed is the sender's word": 1}


def test_a_rival_that_was_skipped_although_it_runs_is_not_an_agreement(forger):
    forger.result(forger.key("paper"), status="skipped", score=None, reason="not installed")
    forger.manifest["outcomes"][forger.key("paper")] = "skipped"
    verdict = judged(forger.write())

    assert (verdict.outcome, verdict.covered["paper"].skipped) == ("agreed in part", 1)
    assert list(verdict.left) == ["skipped by the sender, and it can be run here"]


def test_a_rival_that_is_not_installed_here_either_was_rightly_skipped(tmp_path):
    two = [Contender(algorithm="vanilla"), Contender(algorithm="river-arf")]
    verdict = judged(ran(tmp_path / "run", ONCE.model_copy(update={"algorithms": two})))

    assert (verdict.outcome, verdict.covered["river-arf"].skipped) == ("agreed", 1)
    assert list(verdict.left) == ["skipped by the sender, and it cannot be run here either"]


def test_results_that_the_suite_does_not_ask_for_hide_no_others(forger):
    key = forger.key()
    forger.event(key, "Finished", score=0.001)
    forger.result(key, score=0.001)
    job = next(job for job in ONCE.jobs() if job.name == "paper")
    for number in range(20):
        version = f"{number:012}"
        fields = json.loads(forger.files[f"jobs/{forger.key('paper')}/{results.RESULT}"])
        other = job.key(fields["digest"], version)
        forger.copy(forger.key("paper"), other)
        forger.result(other, version=version)
    (fault,) = faults(forger.write())

    assert "its suite asks for one result, and 21 are in it" in fault
    assert judged(forger.target).outcome == "refuted"


@pytest.mark.slow
def test_what_names_do_not_say_is_stated_in_the_verdict_and_on_the_page(tmp_path):
    plain = ONCE.model_copy(update={"algorithms": [Contender(algorithm="vanilla")]})
    for number, (suite, said) in enumerate((
        ({"algorithms": [Contender(algorithm="vanilla", name="online-automl"),
                         Contender(algorithm="online-automl", name="vanilla")]},
         ["online-automl is vanilla", "vanilla is online-automl"]),
        ({"algorithms": [Contender(algorithm="vanilla", settings={"vw_options": "-l 9"})]},
         ['vanilla is vanilla with {"settings": {"vw_options": "-l 9"}}']),
        ({"data": [Data(data="synthetic:fried?rows=60&seed=0", name="mv"),
                   Data(data="synthetic:mv?rows=60&seed=0", name="fried", meaningful=False)]},
         ["mv is synthetic:fried?rows=60&seed=0",
          'fried is synthetic:mv?rows=60&seed=0 with {"meaningful": false}']),
        ({"budget": 30.0, "limits": Limits(wall_seconds=5)},
         ['the suite has {"budget": 30.0, "limits": {"wall_seconds": 5.0}}']),
    )):  # fmt: skip
        out = tmp_path / str(number)
        verdict = judged(ran(out, other := plain.model_copy(update=suite)))
        page = build.build(out, other).read_text()

        assert (verdict.outcome, verdict.stated) == ("agreed", said)
        assert all(str(escape(line)) in page for line in said)


SENDERS_WORD = {
    "seconds": ("cpu_seconds", "wall_seconds", "setup_seconds", "job_cpu_seconds",
                "job_wall_seconds"),
    "hosts": ("host",),
    "dates": ("started",),
}  # fmt: skip
OTHER = {
    "key": "k", "algorithm": "online-automl", "name": "x", "data": "synthetic:mv?rows=9&seed=0",
    "digest": "f" * 64, "seed": 1, "environment_seed": 1, "repetition": 5, "status": "crash",
    "reason": "r", "score": 0.5, "metric": "mae", "direction": "max", "metrics": {"mae": 0.1},
    "champion": {"x": 1}, "champion_seed": 3, "unit": "trials", "units": 1.0, "budget": 9.0,
    "rows": 9.0, "rows_available": 9.0, "complete": False, "oracle_baseline": True,
    "baseline": None, "cpu_seconds": 1e-6, "wall_seconds": 1e-6, "setup_seconds": 1e-6,
    "job_cpu_seconds": 1e-6,
    "job_wall_seconds": 1e-6, "settings": {"x": 1}, "environment": "pulls",
    "environment_options": {"log_target": True}, "events": "other.gz", "version": "f" * 12,
    "started": "2020-01-01T00:00:00+00:00", "host": "h", "source": "s", "licence": "l",
    "data_facts": {"rows_cut": 1.0}, "plugins": "other 1.0",
}  # fmt: skip


@pytest.mark.slow
def test_every_field_of_a_result_is_checked_or_said_to_be_the_senders_word(clean, tmp_path):
    offenders = []
    for field in (each.name for each in dataclasses.fields(Result)):
        forger = Forger(clean, tmp_path / "forged.zip")
        key = forger.key()
        if field == "key":
            forger.rename(key, OTHER["key"])
        elif field == "status":
            forger.result(key, status=OTHER["status"], score=None)
            forger.manifest["outcomes"][key] = OTHER["status"]
        elif field == "baseline":  # of some algorithms it is true
            known = json.loads(forger.files[f"jobs/{key}/{results.RESULT}"])["baseline"]
            forger.result(key, baseline=not known)
        else:
            forger.result(key, **{field: OTHER[field]})
        verdict = judged(forger.write())
        stated = any(repr(OTHER[field]) in line for line in verdict.stated)
        words = {word for word, fields in SENDERS_WORD.items() if field in fields}
        if not words <= {*verdict.unverified} or (
            verdict.outcome == "agreed" and not stated and not words
        ):
            offenders.append(field)
    assert offenders == []


def test_the_name_in_a_manifest_is_that_of_the_suite(forger):
    forger.manifest["suite"] = "quick"
    assert faults(forger.write()) == ["it is of 'quick', its suite is 's'"]


def test_a_table_of_configurations_is_that_of_the_events(forger):
    forger.files[f"jobs/{forger.key()}/{bundle.CONFIGURATIONS}"] = b'{"columns": [], "data": []}'
    (fault,) = faults(forger.write())
    assert fault.endswith("its configurations.json is not that of its event log")


def test_published_numbers_under_a_shipped_name_are_held_against_the_shipped_ones():
    shipped = load_suite("paper-chacha", shipped_conf())
    claim = shipped.published[0].model_copy(update={"value": 0.0})
    other = shipped.model_copy(update={"published": [claim]})
    assert compare_with_shipped(other) == "NOT the shipped 'paper-chacha': other published"


def test_the_key_of_a_framework_holds_its_pins_too(tmp_path):
    suite = ONCE.model_copy(update={"algorithms": [Contender(algorithm="river-arf")]})
    forger = Forger(ran(tmp_path / "run", suite), tmp_path / "forged.zip")
    key = forger.key("river-arf")
    digest, version = loading.load(suite.data[0].data).digest, "f" * 12
    forger.result(key, digest=digest, version=version)
    forger.rename(key, suite.jobs()[0].key(digest, version + pinned(suite.jobs()[0])))

    assert faults(forger.write()) == []


def swapped(path, target, score):
    """Return a forgery of `path` in which `abc` chose another configuration, with that score."""
    forger = Forger(path, target)
    key = forger.key("abc")
    events = [each for each in forger.events(key) if each["event"] != "Eliminated"]
    offered = [each for each in events if each["event"] == "ConfigurationAdmitted"]
    champion = [each for each in events if each["event"] == "ChampionChanged"][-1]["configuration"]
    other = next(each for each in offered if each["configuration"] != champion)
    at = events[-1]["at"]
    number = other["configuration"]
    events.insert(-1, {"event": "ChampionChanged", "at": at, "configuration": number,
                       "previous": champion})  # fmt: skip
    for event in events:
        if event["event"] == "ProbeFinished":
            event |= {"status": "timeout", "reason": "too long"}
    events[-1]["score"] = score
    forger.log(key, events)
    forger.result(key, score=score, champion=other["parameters"])
    return forger.write()


def test_a_score_next_to_another_champion_is_that_champions_or_refuted(guided_run, tmp_path):
    (forged,) = judged(swapped(guided_run, tmp_path / "f.zip", 0.99)).again
    lie, _, truth = forged.reason.partition(", its champion, trained in full here, has ")
    assert (forged.outcome, lie) == ("refuted", "score is 0.99")

    (honest,) = judged(swapped(guided_run, tmp_path / "h.zip", float(truth))).again
    assert honest.outcome == "undecided"
    assert "trained in full here, has the score that it says; 0 of its" in honest.reason


def test_a_score_that_cannot_be_checked_is_said_to_be_unchecked(guided_run, tmp_path, monkeypatch):
    path, make = swapped(guided_run, tmp_path / "f.zip", 0.99), environments.make

    def no_environment(kind, dataset, job, *parts):
        if not parts:
            raise LeaseboardError("no room")
        return make(kind, dataset, job, *parts)

    monkeypatch.setattr(environments, "make", no_environment)
    (again,) = judged(path).again

    assert again.outcome == "undecided"
    assert "its score was NOT checked: no room" in again.reason


def test_what_one_seed_makes_two_runs_of_is_undecided_unless_its_shape_differs(
    forger, monkeypatch
):
    monkeypatch.setattr(registry, "unrepeatable", lambda _: "by memory addresses")
    forger.event(key := forger.key(), "Finished", score=0.25)
    forger.result(key, score=0.25)
    verdict = judged(forger.write())

    (again,) = [one for one in verdict.again if one.outcome != "agreed"]
    assert verdict.outcome == "undecided"
    assert again.reason.startswith("its score was NOT checked: by memory addresses: score is 0.25")

    forger.event(key, "Finished", metric="luck")
    forger.result(key, metric="luck")
    assert judged(forger.write()).outcome == "refuted"


def test_all_that_run_autovw_or_weigh_by_seconds_are_unrepeatable():
    found = {name for name in registry.names() if registry.unrepeatable(name)}

    assert found == {
        *(name for name in registry.names() if name.startswith("flaml-autovw")),
        *("flaml", "samlb-chacha"),
    }


def test_seconds_of_a_selection_are_those_of_its_probes(tmp_path):
    path = ran(tmp_path / "run", SELECTED)
    assert faults(path) == []
    for clock in ("cpu_seconds", "wall_seconds"):
        forger = Forger(path, tmp_path / "forged.zip")
        key = forger.key("full-run")
        metrics = json.loads(forger.files[f"jobs/{key}/{results.RESULT}"])["metrics"]
        less = metrics | {f"selection_{clock}": 1e-9}
        forger.result(key, metrics=less, **{clock: 1e-9})
        forger.event(key, "Finished", metrics={k: v for k, v in less.items() if "spent" not in k})
        first, second = faults(forger.write())

        assert f"metrics.selection_{clock} is 1e-09, its probes took " in first
        assert f"repetition 0: {clock} is 1e-09, its probes took " in second


def test_the_last_probe_of_a_selection_is_part_of_its_seconds(guided_run, tmp_path):
    forger = Forger(guided_run, tmp_path / "forged.zip")
    key = forger.key("abc")
    last = [each for each in forger.events(key) if each["event"] == "ProbeFinished"][-1]
    known = json.loads(forger.files[f"jobs/{key}/{results.RESULT}"])["metrics"]
    less = known["selection_cpu_seconds"] - last["cpu_seconds"]
    metrics = known | {"selection_cpu_seconds": less}
    forger.event(key, "Finished", metrics={k: v for k, v in metrics.items() if "spent" not in k})
    forger.result(key, metrics=metrics)
    (fault,) = faults(forger.write())

    assert "metrics.selection_cpu_seconds is " in fault


def test_seconds_of_a_selection_exclude_training_in_full_after_it(tmp_path):
    settings = {"scenario": "training", "bounds": "paper", "epsilon": 0.5}
    suite = BY_SECONDS.model_copy(
        update={"algorithms": [Contender(algorithm="abc", settings=settings)], "environment": {
            "configurations": 3, "initial_rows": 100}}
    )  # fmt: skip
    forger = Forger(path := ran(tmp_path / "run", suite), tmp_path / "forged.zip")
    *_, last, _ = forger.events(forger.key("abc"))

    assert (last["event"], faults(path)) == ("ProbeFinished", [])


def test_a_suite_with_the_name_or_title_of_a_shipped_one_is_held_against_it(clean):
    shipped = load_suite("quick", shipped_conf())
    fewer = {"algorithms": shipped.algorithms[1:], "repetitions": 1, "name": "other"}
    changed = compare_with_shipped(shipped.model_copy(update=fewer))

    assert compare_with_shipped(shipped) == "equals the shipped 'quick'"
    assert changed == (
        f"NOT the shipped 'quick': without algorithm {shipped.algorithms[0].title};"
        f" repetitions 1, shipped {shipped.repetitions}"
    )
    assert compare_with_shipped(bundle.read(clean).suite) == "none of its name or title is shipped"


def test_every_kind_of_environment_has_a_unit():
    assert all(unit_of(kind, {}) for kind in KINDS)
