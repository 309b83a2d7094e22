"""ChaCha on a stream: champion and challengers race, the best proven one predicts.

References
----------
.. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
       https://arxiv.org/abs/2106.04815
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from algorithms.base import Run
from algorithms.benches.stream import StreamBench
from algorithms.chacha.oracle import ConfigOracle, make_oracle
from algorithms.chacha.published.algorithm import Tuning
from algorithms.chacha.published.rules import PRESETS, Preset, Rules, Scheduling
from algorithms.chacha.safe.algorithm import SafeChaCha
from algorithms.errors import UsageError
from algorithms.online.schema import Schema

PUBLISHED_B = 5
"""Live models in the paper's experiments."""

PUBLISHED = {"scheduling": "chacha", "min_lease": None, "coefficient": None}
OWN = {"tolerance": None, "max_terms": None}
"""Settings, with their defaults, that only the presets or only our own rules have."""


@dataclass(frozen=True, kw_only=True)
class ChaCha(Tuning):
    """ChaCha: champion and scheduled challengers on a stream, by default never far above vanilla.

    Without a preset this is `SafeChaCha`. The presets are the paper and its authors' programs:
    the champion is always live; ``b - 1`` challengers from its frontier share the other slots by
    leases that double. Each example is predicted by the live model of least upper loss bound. A
    challenger proved better becomes champion and brings its own frontier.

    Parameters
    ----------
    preset : "paper", "flaml" or "icml-eval", optional
        Published rules, see `algorithms.chacha.published.rules`.
    scheduling : "chacha", "aggressive" or "no-champion"
        The paper's ablations: leases end whatever the performance; the champion's too.
    b : int, optional
        Live models at once; 1 is vanilla. If not named 50, or 5 in a preset.
    min_lease : float, optional
        Overrides the preset's minimum lease, in examples.
    coefficient : float, optional
        Overrides the preset's coefficient of the bound.
    tolerance, max_terms
        Without a preset; see `SafeChaCha`.
    tune, engine, vw_options
        See `Tuning`.

    Examples
    --------
    >>> from algorithms.tiny import tiny_bench
    >>> bench = tiny_bench("stream")
    >>> events = list(ChaCha(b=3).run(bench, seed=0))
    >>> [type(event).__name__ for event in events[:2]]
    ['ConfigurationAdmitted', 'LeaseGranted']
    """

    preset: Preset | None = None
    scheduling: Scheduling = "chacha"
    b: Annotated[int, Field(ge=1)] | None = None
    min_lease: Annotated[float, Field(gt=0)] | None = None
    coefficient: Annotated[float, Field(gt=0)] | None = None
    tolerance: Annotated[float, Field(ge=0)] | None = None
    max_terms: Annotated[int, Field(ge=1)] | None = None

    def __post_init__(self) -> None:
        foreign = OWN if self.preset else PUBLISHED
        rule = (
            f"does not belong to preset {self.preset!r}: name no preset"
            if self.preset
            else f"belongs to a preset: name one of {', '.join(PRESETS)}"
        )
        for name, default in foreign.items():
            value = getattr(self, name)
            if value != default:
                raise UsageError(f"setting {name}={value!r} {rule}")

    @property
    def capacity(self) -> int:
        """At most b models are live."""
        return self.safe().capacity if self.preset is None else self.slots(None)

    def safe(self) -> SafeChaCha:
        """What runs without a preset."""
        named = {"b": self.b, "tolerance": self.tolerance, "max_terms": self.max_terms}
        return SafeChaCha(
            tune=self.tune,
            engine=self.engine,
            vw_options=self.vw_options,
            **{name: value for name, value in named.items() if value is not None},  # type: ignore[arg-type]
        )

    def loss(self, bench: StreamBench) -> str:
        """The paper's proxy in a preset; without one what the models learn by."""
        return super().loss(bench) if self.preset else self.safe().loss(bench)

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Race over the stream; the champion's learner is the model."""
        race = super().run if self.preset else self.safe().run
        return (yield from race(bench, seed))

    def slots(self, schema: Schema | None) -> int:
        """One for the champion, b - 1 for challengers."""
        return PUBLISHED_B if self.b is None else self.b

    def rules(self) -> Rules:
        """The preset with what the settings override."""
        assert self.preset is not None
        changes: dict[str, object] = {}
        if self.scheduling != "chacha":
            changes["keep"] = "none"
        if self.scheduling == "no-champion":
            changes["keep_champion"] = False
        if self.min_lease is not None:
            changes["lease"] = self.min_lease
        if self.coefficient is not None:
            changes["coefficient"] = self.coefficient
        return PRESETS[self.preset].replace(**changes)

    def oracle(self) -> ConfigOracle:
        """The authors' presets change one hyperparameter at a time, by steps of one size."""
        own = self.preset == "paper"
        return make_oracle(self.tune, combined=own, adaptive=own)
