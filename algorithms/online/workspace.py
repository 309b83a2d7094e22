"""A learner trained by a real Vowpal Wabbit workspace, with any of VW's options."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pylibvw
from numpy.typing import ArrayLike, NDArray
from vowpalwabbit import Workspace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import Floats, Slots
from leaseboard.algorithms.online.learner import Learner, as_example, command_options
from leaseboard.algorithms.online.live import LiveModels
from leaseboard.algorithms.online.one_against_all import LearnClasses
from leaseboard.algorithms.online.schema import Schema, require_same_naming
from leaseboard.algorithms.plain import fill

_SIMPLE_LABEL = pylibvw.vw.lSimple
_INT = struct.Struct("<I")


class ExampleBuilder:
    """Makes VW examples of dense rows so that no digit is lost.

    One example serves many workspaces: each must ``setup_example`` it with its own options
    before learning and ``unsetup_example`` it afterwards. An example that keeps the set-up of
    another workspace silently learns with that workspace's interactions.

    Where the schema needs full names, examples go through VW's text parser, which alone keeps
    them; else hashed features are pushed, twice as fast.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._workspace = Workspace(arg_list=["--bit_precision", str(schema.bits), "--quiet"])
        self._indices = schema.indices()

    def __reduce__(self) -> tuple[type[ExampleBuilder], tuple[Schema]]:
        return ExampleBuilder, (self.schema,)

    def build(
        self, row: NDArray[np.float32], label: float | None = None, importance: float = 1.0
    ) -> Any:
        """An example that no workspace has set up yet. Zeros are dropped, as in VW's text."""
        values = row.tolist()
        if self.schema.full_names:
            line = text_line(self.schema, values)
            example = pylibvw.example(self._workspace, _SIMPLE_LABEL, line)
            self._workspace.unsetup_example(example)
        else:
            example = self._pushed(values)
        if label is not None:
            text = float(np.float32(label)).hex()
            if importance != 1.0:
                text += f" {float(np.float32(importance)).hex()}"
            example.set_label_string(self._workspace, text, _SIMPLE_LABEL)
        return example

    def _pushed(self, values: list[float]) -> Any:
        example = pylibvw.example(self._workspace, _SIMPLE_LABEL)
        for name, columns in zip(self.schema.namespaces, self.schema.columns, strict=True):
            features = [(self._indices[c], values[c]) for c in columns if values[c]]
            if features:
                example.push_namespace(ord(name[0]))
                example.push_feature_list(self._workspace, ord(name[0]), 0, features)
        return example


def text_line(schema: Schema, values: list[float]) -> str:
    """Return the example in VW's text format without a label; numbers are hexadecimal.

    VW's own parser of decimals is off by a unit in the last place, that of hexadecimals is exact.

    Examples
    --------
    >>> text_line(Schema(("a", "b"), ((0,), (1, 2)), ("0", "x", "y")), [0.5, 0.0, 3.0])
    '|a 0:0x1.0000000000000p-1 |b y:0x1.8000000000000p+1'
    """
    groups = []
    for name, columns in schema.groups():
        features = [f"{schema.features[c]}:{values[c].hex()}" for c in columns if values[c]]
        groups.append(" ".join([f"|{name}", *features]))
    return " ".join(groups)


class WorkspaceLearner(Learner):
    """A VW workspace behind the learner interface.

    Parameters
    ----------
    schema, configuration
        See `Learner`.
    options : sequence of str
        Further options of VW, such as ``("--loss_function", "logistic")``.
    builder : ExampleBuilder, optional
        Shared by the models of a race.
    initial : Path, optional
        A VW model file to go on from.
    """

    def __init__(
        self,
        schema: Schema,
        configuration: VWConfiguration,
        options: tuple[str, ...] = (),
        builder: ExampleBuilder | None = None,
        initial: Path | None = None,
    ) -> None:
        super().__init__(schema, configuration)
        self.options = options
        self._builder = builder or ExampleBuilder(schema)
        self._workspace = self._open(initial)
        self.labels = np.zeros(2, dtype=np.float32)

    def predict(self, example: ArrayLike) -> float:
        """Return the prediction for one example, an array of shape (n_features,)."""
        built = self._builder.build(as_example(example, self.schema))
        self._workspace.setup_example(built)
        pylibvw.vw.predict(self._workspace, built)
        prediction = float(built.get_simplelabel_prediction())
        self._workspace.unsetup_example(built)
        return prediction

    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""
        built = self._builder.build(as_example(example, self.schema), label, importance)
        return self.learn_built(built, label)

    def learn_built(self, built: Any, label: float) -> float:
        """Learn an example of the builder; return the prediction that was due before.

        VW's ``learn`` extends the range of labels first and clips its prediction to that; the
        progressive prediction is the raw one, clipped to the labels before. Options can change
        range and link, so where there are any VW is asked to predict.
        """
        self._workspace.setup_example(built)
        if self.options:
            pylibvw.vw.predict(self._workspace, built)
            before = float(built.get_simplelabel_prediction())
            pylibvw.vw.learn(self._workspace, built)
        else:
            pylibvw.vw.learn(self._workspace, built)
            raw = np.float32(built.get_partial_prediction())
            low, high = self.labels
            before = 0.0 if np.isnan(raw) else float(min(max(raw, low), high))
            self.labels[0] = min(low, np.float32(label))
            self.labels[1] = max(high, np.float32(label))
        self._workspace.unsetup_example(built)
        return before

    def grow(self, schema: Schema, builder: ExampleBuilder) -> None:
        """Go on with the examples of a schema of more columns."""
        self.schema = schema
        self._builder = builder

    def command_line(self) -> str:
        """Return the options with which ``vw`` trains this configuration."""
        return " ".join([*command_options(self.schema, self.configuration), *self.options])

    def save(self, path: Path) -> None:
        """Write the workspace's VW model file."""
        self._workspace.save(str(path))

    def content(self) -> bytes:
        """Return the bytes of the workspace's VW model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            self.save(path)
            return path.read_bytes()

    def replace(self, content: bytes) -> None:
        """Go on from the bytes of a model file of this very configuration and these options.

        Raises
        ------
        ValueError
            If the file is not of this version of VW or names other options, all of which VW
            would obey, those that write files among them.
        """
        expected, found = _header(self.content()), _header(content)
        if found != expected:
            raise ValueError(f"VW model file begins with {found!r}, not {expected!r}")
        fresh, self._workspace = self._workspace, self._continued(content)
        fresh.finish()

    def branch(self, configuration: VWConfiguration) -> WorkspaceLearner:
        """Return a model of `configuration` that goes on from this one, by way of a model file.

        The configuration must have all interactions of this one: given none on its command
        line, VW would silently take those of the file.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            self.save(path)
            twin = WorkspaceLearner(
                self.schema, configuration, self.options, self._builder, initial=path
            )
        twin.labels = self.labels.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_workspace"}
        return state | {"model": self.content()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("model")
        vars(self).update(state)
        self._workspace = self._continued(model)

    def _continued(self, content: bytes) -> Workspace:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            path.write_bytes(content)
            return self._open(path)

    def _open(self, initial: Path | None) -> Workspace:
        more = () if initial is None else ("--initial_regressor", str(initial))
        return open_workspace(self.schema, self.configuration, self.options, *more)

    def close(self) -> None:
        """Free VW's memory now instead of when Python gets to it."""
        self._workspace.finish()


def _header(content: bytes) -> tuple[bytes, bytes]:
    """What a VW model file says of itself, but for the range of labels; ValueError if it cannot.

    It begins with version and identity, each after its length, the letter m, two floats of that
    range, four sizes, and the options that VW keeps, after their length.
    """
    try:
        at = 0
        for _ in range(2):
            at += _INT.size + _INT.unpack_from(content, at)[0]
        sizes = at + 1 + 2 * _INT.size
        end = sizes + 4 * _INT.size
        end += _INT.size + _INT.unpack_from(content, end)[0]
    except struct.error as error:
        raise ValueError("VW model file is cut off") from error
    return content[: at + 1], content[sizes:end]


_MULTICLASS = pylibvw.vw.lMulticlass


class WorkspaceModels(LiveModels):
    """Real VW workspaces; they branch by way of model files."""

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...] = ()) -> None:
        self.schema = schema
        self.options = options
        self._builder = ExampleBuilder(schema)
        self._learners: list[WorkspaceLearner | None] = [None] * n_slots

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new workspace into `slot`, a branch of `parent` if there is one."""
        if parent is None:
            self._learners[slot] = WorkspaceLearner(
                self.schema, configuration, self.options, self._builder
            )
        else:
            self._learners[slot] = self._at(parent).branch(configuration)

    def stop(self, slot: int) -> None:
        """Close the workspace in `slot`."""
        self._at(slot).close()
        self._learners[slot] = None

    def require_same_naming(self, schema: Schema) -> None:
        """See `LiveModels.require_same_naming`."""
        require_same_naming(self.schema, schema)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; VW's table has room for them already."""
        self.require_same_naming(schema)
        self.schema = schema
        self._builder = ExampleBuilder(schema)
        for learner in self._learners:
            if learner is not None:
                learner.grow(schema, self._builder)

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, live: Slots, out: Floats
    ) -> None:
        """Every example is built once and learned by each workspace in turn."""
        triples = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for t, (row, label, importance) in enumerate(triples):
            built = self._builder.build(row, label, importance)
            for slot in live.tolist():
                out[t, slot] = self._at(slot).learn_built(built, label)

    def predict(self, example: Floats, live: Slots, out: Floats) -> None:
        """Each workspace predicts in turn."""
        for slot in live.tolist():
            out[slot] = self._at(slot).predict(example)

    def learner(self, slot: int) -> Learner:
        """Return the workspace in `slot`."""
        return self._at(slot)

    def state(self, slot: int) -> dict[str, Any]:
        """VW's model file, and the range of labels."""
        learner = self._at(slot)
        return {"model": learner.content(), "labels": learner.labels}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        fresh = WorkspaceLearner(self.schema, configuration, self.options, self._builder)
        fill(fresh, state, ("labels",))
        fresh.replace(state["model"])
        self._learners[slot] = fresh

    def _at(self, slot: int) -> WorkspaceLearner:
        learner = self._learners[slot]
        assert learner is not None, f"slot {slot} is empty"
        return learner


def one_against_all(
    schema: Schema, configuration: VWConfiguration, n_classes: int, options: tuple[str, ...]
) -> LearnClasses:
    """See `leaseboard.algorithms.online.one_against_all.make_one_against_all`.

    The logistic loss is among the options, which chances ask for.
    """
    more = "--probabilities", "--oaa", str(n_classes)
    workspace = open_workspace(schema, configuration, options, *more)

    def learn(examples: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        chances = np.empty((len(numbers), n_classes))
        for t, (row, number) in enumerate(zip(examples.tolist(), numbers.tolist(), strict=True)):
            example = workspace.parse(f"{number + 1} {text_line(schema, row)}", _MULTICLASS)
            chances[t] = workspace.predict(example)
            workspace.learn(example)
            workspace.finish_example(example)
        return chances

    return learn


def open_workspace(
    schema: Schema, configuration: VWConfiguration, options: tuple[str, ...], *more: str
) -> Workspace:
    """Return a quiet workspace; UsageError in VW's own words if it refuses the options."""
    tokens = [*command_options(schema, configuration), *options, "--quiet", "--no_stdin", *more]
    try:
        return Workspace(arg_list=tokens)
    except RuntimeError as error:
        if not options:
            raise
        raise UsageError(f"Vowpal Wabbit refuses {' '.join(options)}: {error}") from error
