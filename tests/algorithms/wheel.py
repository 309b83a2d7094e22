"""Vowpal Wabbit with interactions and importances, which our kernels agree with."""

import numpy as np

from leaseboard.algorithms.online.schema import generated
from leaseboard.algorithms.reference.vw import Wheel, text_line


class ConfiguredWheel(Wheel):
    """Workspace of a configuration."""

    def __init__(self, schema, configuration, options=(), n_classes=0):
        super().__init__(schema, [*command_options(schema, configuration), *options], n_classes)

    def learn(self, row, label, importance):
        """Learn one example; return what was predicted before."""
        said = f"{float(np.float32(label)).hex()} {float(np.float32(importance)).hex()}"
        return self._pass(f"{said} {text_line(self.schema, row.tolist())}", learns=True)


def command_options(schema, configuration):
    """Return VW's options for `configuration`, as tokens.

    VW's ``--interactions`` names namespaces by their first letters. If that is not enough to
    distinguish them, ``--experimental_full_name_interactions`` is used.
    """
    tokens = ["--learning_rate", repr(configuration.learning_rate)]
    units = sorted(generated(each, schema.full_names) for each in configuration.interactions)
    for _, interaction in units:
        if schema.full_names:
            tokens += ["--experimental_full_name_interactions", "|".join(interaction)]
        else:
            tokens += ["--interactions", "".join(name[0] for name in interaction)]
    return tokens
