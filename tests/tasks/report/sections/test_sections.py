"""The page shows each section that has anything to say, and nothing twice."""

from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.report.material import Material, read_logs
from leaseboard.tasks.report.sections import READERS, SECTIONS
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import compared


def test_a_section_of_a_run_without_logs_is_made_all_the_same(run_folder, suite, tmp_path):
    """A reader gives each section what it asks of the logs; a forgotten one fails here."""
    frame = as_frame(shown_at(run_folder))
    read, damaged = read_logs(tmp_path, frame, READERS)
    made = Material("", frame, suite, compared(frame, suite), read, damaged)
    shown = [found for make in SECTIONS if (found := make(made)) is not None]

    assert set(read) == set(READERS)
    assert not any(read.values())
    assert len({section.id for section in shown}) == len(shown)
    assert "curves" not in {section.id for section in shown}
