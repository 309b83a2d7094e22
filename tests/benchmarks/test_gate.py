"""The simulation of the gate on a few gates: neutral changes pass, large drops are found."""

from benchmarks.gate import DRAWS, main, simulate


def test_a_simulation_finds_large_drops_and_no_neutral_change():
    alarms, jobs, _, five, ten = simulate(DRAWS["normal"], 3, gates=20, scenarios=3, seed=0)
    assert alarms <= 0.05
    assert jobs <= 2
    assert five == ten == 1


def test_it_runs_as_a_command(capsys):
    assert main(["--gates", "3", "--scenarios", "2", "--seed", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 14
