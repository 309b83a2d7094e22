"""Every algorithm by name: one line each, imported only when it is built."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaseboard.algorithms.base import Algorithm, configured, setting_names
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.user_files import blaming, classes_in, file_of, import_file


@dataclass(frozen=True, slots=True)
class Entry:
    """A name of the command line: which class it builds, with which settings preset.

    `extra` names a package that is not installed by default and without which the algorithm
    cannot run.
    """

    name: str
    target: str
    summary: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    extra: str = ""


CHACHA = "Wu et al. 2021, ChaCha for online AutoML"
RISING = "Li et al. 2020, Efficient automatic CASH via rising bandits"
ER_UCB = "Hu et al. 2019, Cascaded algorithm selection with ER-UCB"
HEIDARI = "Heidari et al. 2016, Improving and decaying bandits"
MAX_UCB = "Balef et al. 2025, Put CASH on bandits"
FIRST = "what a person tries first"
APPLE = "Agarwal et al. 2014, Scalable nonlinear learning with adaptive polynomial expansions"
FLAML = "Wang et al. 2021, FLAML"
HPSKLEARN = "Komer et al. 2014, Hyperopt-Sklearn"
AUTOGLUON = "Erickson et al. 2020, AutoGluon-Tabular"
TPOT = "Olson et al. 2016, TPOT"
RIVER = "Montiel et al. 2021, River"
HAT = "Bifet and Gavalda 2009, Adaptive learning from evolving data streams"
ARF = "Gomes et al. 2017, Adaptive random forests"
SRP = "Gomes, Read and Bifet 2019, Streaming random patches"
AMRULES = "Almeida, Ferreira and Gama 2013, Adaptive model rules from data streams"
ALMA = "Gentile 2001, A new approximate maximal margin classification algorithm"
SAMLB = "SAMLB 0.6, 2026"
EVO = "Kulbach et al. 2022, Evolution-based online automated machine learning"
CAPYMOA = "Gomes et al. 2025, CapyMOA"
LIGHTGBM = "Ke et al. 2017, LightGBM"
FOREST = "Breiman 2001, Random forests"
SKLEARN = "scikit-learn, after Jamieson and Talwalkar 2016"
OPTUNA = "Akiba et al. 2019, Optuna"
HYPERBAND = "Li et al. 2018, Hyperband, as Optuna has it"
EARLY_STOPPED = "after Bergman et al. 2024, Early stopping cross-validation"
ABC = "Huang et al. 2019, ABC"

ENTRIES: tuple[Entry, ...] = (
    Entry("chacha", "leaseboard.algorithms.chacha.chacha:ChaCha",
          "race of many live models on a stream, never far above the best baseline", CHACHA),
    Entry("chacha-paper", "leaseboard.algorithms.chacha.published.presets:Paper",
          "champion and challengers on a stream, by the paper's text", CHACHA),
    Entry("chacha-flaml", "leaseboard.algorithms.chacha.published.presets:Flaml",
          "the same by the authors' public program", CHACHA),
    Entry("chacha-icml-eval", "leaseboard.algorithms.chacha.published.presets:IcmlEval",
          "the same by the authors' evaluation code", CHACHA),
    Entry("chacha-aggressive", "leaseboard.algorithms.chacha.published.presets:IcmlEval",
          "ablation: leases end whatever the performance", CHACHA, {"keep": "nobody"}),
    Entry("chacha-no-champion", "leaseboard.algorithms.chacha.published.presets:IcmlEval",
          "ablation: the champion's lease ends too", CHACHA,
          {"keep": "nobody", "keep_champion": False}),
    Entry("vanilla", "leaseboard.algorithms.chacha.baselines:Vanilla",
          "the default configuration alone", CHACHA),
    Entry("random-configs", "leaseboard.algorithms.chacha.baselines:RandomConfigurations",
          "the default and b - 1 random configurations", CHACHA),
    Entry("exhaustive", "leaseboard.algorithms.chacha.baselines:Exhaustive",
          "the default and its whole frontier, all live", CHACHA),
    Entry("offline", "leaseboard.algorithms.chacha.baselines:Offline",
          "the default learner, frozen after a fifth", CHACHA),
    Entry("river-linear", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "River's linear models, scaled and clipped, in an environment of their own", RIVER,
          {"learner": "linear"}),
    Entry("river-linear-plain", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "the same scaled alone, as its documentation has it", RIVER,
          {"learner": "linear-plain"}),
    Entry("river-hat", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "River's Hoeffding adaptive tree, in an environment of its own", HAT,
          {"learner": "hat"}),
    Entry("river-arf", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "River's adaptive random forest, in an environment of its own", ARF,
          {"learner": "arf"}),
    Entry("river-srp", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "River's streaming random patches, in an environment of their own", SRP,
          {"learner": "srp"}),
    Entry("river-amrules", "leaseboard.algorithms.reference.stream_peers:NumbersPeer",
          "River's adaptive model rules for numbers, in an environment of their own", AMRULES),
    Entry("river-alma", "leaseboard.algorithms.reference.stream_peers:TwoClassPeer",
          "River's ALMA for two classes, in an environment of its own", ALMA),
    Entry("river-bandit", "leaseboard.algorithms.reference.stream_peers:StreamPeer",
          "River's bandit over learning rates, in an environment of its own", RIVER,
          {"learner": "bandit"}),
    Entry("samlb-asml", "leaseboard.algorithms.reference.stream_peers:SamlbPeer",
          "SAMLB's AutoStream, in an environment of its own", SAMLB, {"learner": "asml"}),
    Entry("samlb-evolutionary", "leaseboard.algorithms.reference.stream_peers:SamlbPeer",
          "EvOAutoML as SAMLB has it, in an environment of its own", EVO,
          {"learner": "evolutionary"}),
    Entry("samlb-autoclass", "leaseboard.algorithms.reference.stream_peers:SamlbClassesPeer",
          "AutoClass as SAMLB has it, for classes, in an environment of its own", SAMLB,
          {"learner": "autoclass"}),
    Entry("samlb-oaml", "leaseboard.algorithms.reference.stream_peers:SamlbClassesPeer",
          "OAML as SAMLB has it, for classes, in an environment of its own", SAMLB,
          {"learner": "oaml"}),
    Entry("samlb-chacha", "leaseboard.algorithms.reference.stream_peers:SamlbChaCha",
          "AutoVW as SAMLB calls it: one namespace, so no interactions", SAMLB),
    Entry("capymoa-hat", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaClassesPeer",
          "CapyMOA's Hoeffding adaptive tree, in an environment of its own", HAT,
          {"learner": "hat"}),
    Entry("capymoa-arf", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaForest",
          "CapyMOA's adaptive random forest, in an environment of its own", ARF),
    Entry("capymoa-srp", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaClassesPeer",
          "CapyMOA's streaming random patches, in an environment of their own", SRP,
          {"learner": "srp"}),
    Entry("capymoa-boost", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaClassesPeer",
          "CapyMOA's OzaBoost, in an environment of its own", CAPYMOA,
          {"learner": "boost"}),
    Entry("capymoa-leveraging", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaClassesPeer",
          "CapyMOA's leveraging bagging, in an environment of its own", CAPYMOA,
          {"learner": "leveraging"}),
    Entry("capymoa-autoclass", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaClassesPeer",
          "AutoClass as CapyMOA has it, in an environment of its own", CAPYMOA,
          {"learner": "autoclass"}),
    Entry("capymoa-soknl", "leaseboard.algorithms.reference.capymoa_peers:CapyMoaNumbersPeer",
          "CapyMOA's k nearest leaves for numbers, in an environment of its own", CAPYMOA),
    Entry("flaml-autovw", "leaseboard.algorithms.reference.autovw_peers:AutoVWPeer",
          "FLAML's AutoVW as it is, in an environment of its own", CHACHA),
    Entry("flaml-autovw-patched", "leaseboard.algorithms.reference.autovw_peers:AutoVWPeer",
          "the same with the absolute error of one number computed without scikit-learn", CHACHA,
          {"learner": "patched"}),
    Entry("flaml-autovw-squared", "leaseboard.algorithms.reference.autovw_peers:AutoVWPeer",
          "the same, told that the squared error counts", CHACHA, {"learner": "squared"}),
    Entry("best-in-hindsight", "leaseboard.algorithms.chacha.baselines:BestInHindsight",
          "hindsight: the one configuration that turned out best", CHACHA),
    Entry("running-mean", "leaseboard.algorithms.reference.labels:RunningMean",
          "baseline: the mean of the labels so far, or the commoner class", FIRST),
    Entry("last-label", "leaseboard.algorithms.reference.labels:LastLabel",
          "baseline: the label before", FIRST),
    Entry("seasonal-last", "leaseboard.algorithms.reference.labels:SeasonalLast",
          "baseline: the label one period before, given or found", FIRST),
    Entry("online-ridge", "leaseboard.algorithms.reference.ridge:OnlineRidge",
          "baseline: recursive least squares on standardised features", FIRST),
    Entry("apple", "leaseboard.algorithms.apple.apple:Apple",
          "monomials grown from those with the largest weights", APPLE),
    Entry("apple-ssm", "leaseboard.algorithms.apple.apple:Apple",
          "apple with the heuristic of Sanger, Sutton and Matheus", APPLE, {"heuristic": "ssm"}),
    Entry("apple-fallback", "leaseboard.algorithms.apple.apple:Apple",
          "apple that reaches every monomial in the end", APPLE, {"fallback": True}),
    Entry("apple-parallel", "leaseboard.algorithms.apple.parallel:ParallelApple",
          "local choice at each node, union of parents, averaged weights", APPLE),
    Entry("linear", "leaseboard.algorithms.apple.polynomial:Polynomial",
          "VW's default learner on the features as they are", APPLE),
    Entry("quadratic", "leaseboard.algorithms.apple.polynomial:Polynomial",
          "all products of two features", APPLE, {"degree": 2}),
    Entry("cubic", "leaseboard.algorithms.apple.polynomial:Polynomial",
          "all products of up to three features", APPLE, {"degree": 3, "bits": 24}),
    Entry("bigram", "leaseboard.algorithms.apple.polynomial:Polynomial",
          "linear on words and pairs of neighbouring words", APPLE, {"base": "bigram"}),
    Entry("stage-poly", "leaseboard.algorithms.apple.stage_poly:StagePoly",
          "VW's own apple, the reference", APPLE),
    Entry("rising-bandits", "leaseboard.algorithms.rising_bandits:RisingBandits",
          "dismisses arms whose smoothed growth cannot catch up", RISING),
    Entry("rising-bandits-strict", "leaseboard.algorithms.rising_bandits:RisingBandits",
          "the same with the last step as the growth rate (eq. 9)", RISING, {"C": 1}),
    Entry("rising-bandits-cost", "leaseboard.algorithms.rising_bandits:RisingBanditsCost",
          "the same under a budget in seconds (eq. 16)", RISING),
    Entry("heidari", "leaseboard.algorithms.policies.heidari:Heidari",
          "dismisses arms by the sum of their rewards", HEIDARI),
    Entry("average", "leaseboard.algorithms.policies.even:Average",
          "the same budget for every arm", RISING),
    Entry("cmab", "leaseboard.algorithms.policies.mean:ThompsonSampling",
          "Thompson sampling on coin flips", RISING),
    Entry("ucb", "leaseboard.algorithms.policies.mean:UpperConfidenceBound",
          "UCB on the mean; constant arms are pulled once", RISING,
          {"freeze_constant_arms": True}),
    Entry("er-ucb", "leaseboard.algorithms.er_ucb:ErUcb",
          "the arm with the largest extreme region; needs a beta tuned per task", ER_UCB),
    Entry("er-ucb-auto", "leaseboard.algorithms.er_ucb:ErUcbAuto",
          "ER-UCB that chooses beta without hindsight: the recommended one", ER_UCB),
    Entry("c-ucb", "leaseboard.algorithms.policies.mean:UpperConfidenceBound",
          "UCB on the mean", ER_UCB),
    Entry("epsilon-greedy", "leaseboard.algorithms.policies.mean:EpsilonGreedy",
          "the best arm so far, or any with probability epsilon", ER_UCB),
    Entry("softmax", "leaseboard.algorithms.policies.mean:Softmax",
          "arms drawn by the exponential of their mean", ER_UCB),
    Entry("random-arm", "leaseboard.algorithms.policies.even:RandomArm",
          "arms drawn uniformly", ER_UCB),
    Entry("max-ucb", "leaseboard.algorithms.policies.max_ucb:MaxUcb",
          "an upper confidence bound on the maximum", MAX_UCB),
    Entry("tpe-joint", "leaseboard.algorithms.policies.joint:JointSpace",
          "TPE over all arms at once", RISING, {"optimiser": "tpe"}),
    Entry("random-joint", "leaseboard.algorithms.policies.joint:JointSpace",
          "random search over all arms at once", ER_UCB, {"optimiser": "random"}),
    Entry("smac-joint", "leaseboard.algorithms.policies.joint:JointSpace",
          "SMAC over all arms at once", RISING, {"optimiser": "smac"}, extra="smac"),
    Entry("bohb", "leaseboard.algorithms.policies.joint:JointSpace",
          "SMAC's multi-fidelity facade over all arms", RISING,
          {"optimiser": "bohb"}, extra="smac"),
    Entry("flaml", "leaseboard.algorithms.policies.joint:Peer",
          "FLAML's AutoML, in an environment of its own", FLAML, {"system": "flaml"}),
    Entry("hyperopt-sklearn", "leaseboard.algorithms.policies.joint:Peer",
          "TPE over its own classifiers, in an environment of its own", HPSKLEARN,
          {"system": "hyperopt-sklearn"}),
    Entry("tpot", "leaseboard.algorithms.policies.joint:Peer",
          "TPOT's genetic search, in an environment of its own", TPOT, {"system": "tpot"}),
    Entry("leaseboard-default", "leaseboard.algorithms.reference.tables:TableSystem",
          "our own estimator on a table, at its defaults", RISING, {"system": "leaseboard"}),
    Entry("flaml-default", "leaseboard.algorithms.reference.tables:TableSystem",
          "FLAML on a table, at its defaults, in an environment of its own", FLAML,
          {"system": "flaml"}),
    Entry("tpot-default", "leaseboard.algorithms.reference.tables:TableSystem",
          "TPOT on a table, at its defaults, in an environment of its own", TPOT,
          {"system": "tpot"}),
    Entry("tpot-light", "leaseboard.algorithms.reference.tables:TableSystem",
          "TPOT on a table, its fast pipelines alone, in an environment of its own", TPOT,
          {"system": "tpot-light"}),
    Entry("hyperopt-sklearn-default", "leaseboard.algorithms.reference.tables:TableSystem",
          "hyperopt-sklearn on a table, any learner, in an environment of its own", HPSKLEARN,
          {"system": "hyperopt-sklearn"}),
    Entry("autogluon-default", "leaseboard.algorithms.reference.tables:TableSystem",
          "AutoGluon on a table, at its defaults, in an environment of its own", AUTOGLUON,
          {"system": "autogluon"}),
    Entry("lightgbm-default", "leaseboard.algorithms.reference.tables:TableBaseline",
          "baseline: LightGBM on a table, at its defaults", LIGHTGBM, {"system": "lightgbm"}),
    Entry("forest-default", "leaseboard.algorithms.reference.tables:TableBaseline",
          "baseline: a random forest on a table, at its defaults", FOREST, {"system": "forest"}),
    Entry("abc", "leaseboard.algorithms.abc_selection.selection:ABC",
          "prune by confidence intervals on growing samples", ABC),
    Entry("full-run", "leaseboard.algorithms.abc_selection.baselines:FullRun",
          "train every configuration in full", ABC),
    Entry("successive-halving", "leaseboard.algorithms.abc_selection.baselines:SuccessiveHalving",
          "keep the better half, double the sample", ABC),
    Entry("daub", "leaseboard.algorithms.abc_selection.daub:Daub",
          "data to the highest projected accuracy", "Sabharwal et al. 2016, DAUB"),
    Entry("early-stopped-cv",
          "leaseboard.algorithms.abc_selection.cross_validation:EarlyStoppedCV",
          "cross-validation without the folds of who cannot be the best", EARLY_STOPPED),
    Entry("cross-validation",
          "leaseboard.algorithms.abc_selection.cross_validation:CrossValidation",
          "every configuration on every fold", FIRST),
    Entry("random-configuration",
          "leaseboard.algorithms.abc_selection.baselines:RandomConfiguration",
          "one configuration at random", ABC),
    Entry("sklearn-halving", "leaseboard.algorithms.reference.selection_peers:HalvingSearch",
          "scikit-learn's HalvingGridSearchCV over the same fits", SKLEARN),
    Entry("sklearn-halving-random",
          "leaseboard.algorithms.reference.selection_peers:HalvingSearch",
          "scikit-learn's HalvingRandomSearchCV over the same fits", SKLEARN,
          {"search": "random"}),
    Entry("optuna-tpe", "leaseboard.algorithms.reference.selection_peers:PrunedStudy",
          "Optuna's default study, TPE and MedianPruner, in an environment of its own", OPTUNA,
          {"sampler": "tpe"}),
    Entry("optuna-median", "leaseboard.algorithms.reference.selection_peers:PrunedStudy",
          "each configuration once, pruned by Optuna's MedianPruner", OPTUNA),
    Entry("optuna-halving", "leaseboard.algorithms.reference.selection_peers:PrunedStudy",
          "each configuration once, pruned by Optuna's SuccessiveHalvingPruner", OPTUNA,
          {"pruner": "halving"}),
    Entry("optuna-hyperband", "leaseboard.algorithms.reference.selection_peers:PrunedStudy",
          "each configuration once, pruned by Optuna's HyperbandPruner", HYPERBAND,
          {"pruner": "hyperband"}),
)  # fmt: skip

_BY_NAME = {entry.name: entry for entry in ENTRIES}


def names() -> list[str]:
    """All registered names, in the order of the table."""
    return list(_BY_NAME)


def entry(name: str) -> Entry:
    """The entry of `name`; UsageError with the nearest name if there is none.

    Of a file without a class the error names those that stand in it.
    """
    if name not in _BY_NAME:
        if name.endswith(".py"):
            written = f"write {name}:CLASS"
            if found := classes_in(Path(name)):
                written = "write " + " or ".join(f"{name}:{each}" for each in found)
            raise UsageError(f"algorithm {name!r} names a file and no class in it: {written}")
        raise unknown("algorithm", name, _BY_NAME)
    return _BY_NAME[name]


def is_installed(entry: Entry) -> bool:
    """Whether the optional package that the algorithm needs, if any, is here."""
    return not entry.extra or importlib.util.find_spec(entry.extra) is not None


def algorithm_class(name: str) -> type[Algorithm]:
    """The class behind a registered name or behind ``path/to/file.py:Class``."""
    path = file_of(name)
    if path is not None:
        return _from_file(path, name.rpartition(":")[2])
    module, _, attribute = entry(name).target.partition(":")
    found: type[Algorithm] = getattr(importlib.import_module(module), attribute)
    return found


def build(name: str, settings: Mapping[str, Any] | None = None) -> Algorithm:
    """The algorithm `name` with `settings`; UsageError names a setting that is wrong and why.

    Strings are converted to the setting's type, so that the command line's ``--set b=5`` works.
    """
    cls = algorithm_class(name)
    settings, known = settings or {}, setting_names(cls)
    for key, value in settings.items():
        if key not in known:
            raise unknown_setting(name, key, value, known)
    path = file_of(name)
    if path is None:
        return configured(cls, name, {**_BY_NAME[name].settings, **settings})
    with blaming(path):
        return configured(cls, name, settings)


def unknown_setting(name: str, key: str, value: Any, known: Iterable[str]) -> SettingError:
    """The error for a setting that is not known.

    Where its value is what another name of the same source ends with, that name is told.

    Examples
    --------
    >>> str(unknown_setting("chacha", "preset", "paper", ["b"]))
    "unknown setting of chacha 'preset': take the algorithm 'chacha-paper'"
    """
    for other in ENTRIES if name in _BY_NAME else ():
        if other.source == entry(name).source and other.name.endswith(f"-{value}"):
            told = f"unknown setting of {name} {key!r}: take the algorithm {other.name!r}"
            return SettingError(UsageError(told), key)
    return SettingError(unknown(f"setting of {name}", key, known), key)


def _from_file(path: Path, attribute: str) -> type[Algorithm]:
    module = import_file(path, "algorithm")
    found = getattr(module, attribute, None)
    if not (inspect.isclass(found) and issubclass(found, Algorithm)):
        classes = [n for n, c in vars(module).items() if inspect.isclass(c)
                   and issubclass(c, Algorithm) and c is not Algorithm]  # fmt: skip
        raise unknown(f"algorithm in {path}", attribute, classes)
    return found
