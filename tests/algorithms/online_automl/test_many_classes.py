"""ChaCha over an environment's stream of classes: as the classifier, and reported as one run."""

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    of,
)
from leaseboard.algorithms.online_automl.one_vs_rest import FIRST
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLClassifier
from leaseboard.algorithms.testing import Tiny, tiny_environment
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream


def run(environment, **settings):
    algorithm = registry.build("online-automl", settings)
    log = list(play("online-automl", algorithm, environment, 0))
    return log, environment


def tiny():
    return tiny_environment("stream", Tiny(classes=3))


def test_the_error_is_that_of_the_classifier_which_predicts_then_learns():
    stream = as_stream(load("synthetic:waveform?rows=700&seed=0"), StreamOptions(max_rows=700))
    _, environment = run(StreamEnvironment(stream, budget=600), b=6)
    spaces = {s.name: list(stream.names[s.start : s.stop]) for s in stream.namespaces}
    model, said = OnlineAutoMLClassifier(spaces, b=6), []
    for row, number in zip(stream.features[:600].tolist(), stream.labels.tolist(), strict=False):
        x = dict(zip(stream.names, row, strict=True))
        said.append(model.predict_one(x))
        model.learn_one(x, stream.classes[int(number)])
    names = [
        None if number < 0 else stream.classes[int(number)] for number in environment.predictions
    ]

    # On the first example of a class the environment counts no prediction.
    assert all(one == other for one, other in zip(names, said, strict=True) if one is not None)
    truth = [stream.classes[int(number)] for number in stream.labels[:600]]
    assert environment.score().value == np.mean(
        [one != y for one, y in zip(said, truth, strict=True)]
    )
    assert environment.score().value < 0.3


def test_the_champion_is_the_whole_with_one_of_each_class():
    log, environment = run(tiny(), b=4)
    (champion,) = of(log, ChampionChanged)
    (scored,) = of(log, ConfigurationScored)
    whole = of(log, ConfigurationAdmitted)[-1]
    first, *others = environment.stream.classes

    assert champion.configuration == scored.configuration == whole.configuration
    assert scored.value == environment.score().value
    assert [*whole.parameters] == [first, *others]
    assert whole.parameters[first] == FIRST
    last = {e.label: e.configuration for e in of(log, ClassChampionChanged)}
    known = {e.configuration: dict(e.parameters) for e in of(log, ConfigurationAdmitted)}
    for label in others:
        assert {"class": label, **whole.parameters[label]} == known[last[label]]
