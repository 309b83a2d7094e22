"""Real Vowpal Wabbit workspaces as models, with any of VW's options."""

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pylibvw
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import Floats, Slots
from leaseboard.algorithms.online.learner import Learner, LiveModels, command_options
from leaseboard.algorithms.online.one_against_all import LearnClasses
from leaseboard.algorithms.online.schema import Schema, require_same_naming
from leaseboard.algorithms.plain import fill_array

_INT = struct.Struct("<I")


class ExampleBuilder:
    """Maker of VW examples of dense rows, in which no digit is lost.

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

    def build(
        self, row: NDArray[np.float32], label: float | None = None, importance: float = 1.0
    ) -> Any:
        """Return an example that no workspace has set up yet, without zeros, as VW's text."""
        values = row.tolist()
        if self.schema.full_names:
            line = text_line(self.schema, values)
            example = pylibvw.example(self._workspace, pylibvw.vw.lSimple, line)
            self._workspace.unsetup_example(example)
        else:
            example = self._pushed(values)
        if label is not None:
            text = float(np.float32(label)).hex()
            if importance != 1.0:
                text += f" {float(np.float32(importance)).hex()}"
            example.set_label_string(self._workspace, text, pylibvw.vw.lSimple)
        return example

    def _pushed(self, values: list[float]) -> Any:
        example = pylibvw.example(self._workspace, pylibvw.vw.lSimple)
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


class WorkspaceModels(LiveModels):
    """Real VW workspaces; they branch by way of model files.

    Parameters
    ----------
    schema, n_slots
        See `LiveModels`.
    options : tuple of str
        Further options of VW, such as ``("--loss_function", "logistic")``.

    Attributes
    ----------
    workspaces : list of Workspace or None
    labels : ndarray of float32, shape (n_slots, 2)
        The range of labels that each model has seen.
    """

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...] = ()) -> None:
        super().__init__(schema, n_slots, options)
        self._builder = ExampleBuilder(schema)
        self.workspaces: list[Workspace | None] = [None] * n_slots
        self.labels = np.zeros((n_slots, 2), dtype=np.float32)

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new workspace into `slot`, a branch of `parent` if there is one.

        The configuration must have all interactions of the parent: given none on its command line,
        VW would silently take those of the file.
        """
        content = None if parent is None else self._content(parent)
        self.workspaces[slot] = self._opened(configuration, content)
        self.configurations[slot] = configuration
        self.labels[slot] = 0.0 if parent is None else self.labels[parent]

    def stop(self, slot: int) -> None:
        """Close the workspace in `slot`, whose memory is free at once."""
        self._at(slot).finish()
        self.workspaces[slot] = self.configurations[slot] = None

    def require_same_naming(self, schema: Schema) -> None:
        """See `LiveModels.require_same_naming`."""
        require_same_naming(self.schema, schema)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; VW's table has room for them already."""
        self.require_same_naming(schema)
        self.schema = schema
        self._builder = ExampleBuilder(schema)

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, live: Slots, out: Floats
    ) -> None:
        """Build every example once and let each workspace learn it in turn.

        VW's ``learn`` extends the range of labels first and clips its prediction to that; the
        progressive prediction is the raw one, clipped to the labels before. Options can change
        range and link, so where there are any VW is asked to predict.
        """
        triples = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for t, (row, label, importance) in enumerate(triples):
            built = self._builder.build(row, label, importance)
            for slot in live.tolist():
                workspace, (low, high) = self._at(slot), self.labels[slot]
                workspace.setup_example(built)
                if self.options:
                    pylibvw.vw.predict(workspace, built)
                    out[t, slot] = built.get_simplelabel_prediction()
                pylibvw.vw.learn(workspace, built)
                if not self.options:
                    raw = np.float32(built.get_partial_prediction())
                    out[t, slot] = 0.0 if np.isnan(raw) else min(max(raw, low), high)
                    self.labels[slot] = min(low, label), max(high, label)
                workspace.unsetup_example(built)

    def predict(self, example: Floats, live: Slots, out: Floats) -> None:
        """Let each workspace predict in turn."""
        built = self._builder.build(example)
        for slot in live.tolist():
            workspace = self._at(slot)
            workspace.setup_example(built)
            pylibvw.vw.predict(workspace, built)
            out[slot] = built.get_simplelabel_prediction()
            workspace.unsetup_example(built)

    def learner(self, slot: int) -> Learner:
        """Return the workspace in `slot`."""
        return Learner(self, slot)

    def save(self, slot: int, path: Path) -> None:
        """Write the workspace's VW model file."""
        self._at(slot).save(str(path))

    def state(self, slot: int) -> dict[str, Any]:
        """Return VW's model file, and the range of labels."""
        return {"model": self._content(slot), "labels": self.labels[slot].copy()}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have.

        A model file that is not of this version of VW is refused, and one that names other
        options, all of which VW would obey, those that write files among them.
        """
        self.start(slot, configuration)
        fill_array(self.labels[slot], state["labels"])
        expected, found = _header(self._content(slot)), _header(state["model"])
        if found != expected:
            raise ValueError(f"VW model file begins with {found!r}, not {expected!r}")
        self._at(slot).finish()
        self.workspaces[slot] = self._opened(configuration, state["model"])

    def _at(self, slot: int) -> Workspace:
        workspace = self.workspaces[slot]
        assert workspace is not None, f"slot {slot} is empty"
        return workspace

    def _content(self, slot: int) -> bytes:
        """Return the bytes of the workspace's VW model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            self.save(slot, path)
            return path.read_bytes()

    def _opened(self, configuration: VWConfiguration, content: bytes | None) -> Workspace:
        """Return a workspace that goes on from the `content` of a model file, if there is one."""
        if content is None:
            return open_workspace(self.schema, configuration, self.options)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            path.write_bytes(content)
            initial = "--initial_regressor", str(path)
            return open_workspace(self.schema, configuration, self.options, *initial)


def _header(content: bytes) -> tuple[bytes, bytes]:
    """Return what describes a VW model file, but for the range of labels; ValueError if cut off.

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


def one_against_all(
    schema: Schema, configuration: VWConfiguration, n_classes: int, options: tuple[str, ...]
) -> LearnClasses:
    """See `leaseboard.algorithms.online.one_against_all.make_one_against_all`.

    The logistic loss is among the options, which probabilities ask for.
    """
    more = "--probabilities", "--oaa", str(n_classes)
    workspace = open_workspace(schema, configuration, options, *more)

    def learn(examples: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        probabilities = np.empty((len(numbers), n_classes))
        for t, (row, number) in enumerate(zip(examples.tolist(), numbers.tolist(), strict=True)):
            example = workspace.parse(
                f"{number + 1} {text_line(schema, row)}", pylibvw.vw.lMulticlass
            )
            probabilities[t] = workspace.predict(example)
            workspace.learn(example)
            workspace.finish_example(example)
        return probabilities

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
