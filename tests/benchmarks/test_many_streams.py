from benchmarks import many_streams


def test_the_command_prints_every_way():
    said = []

    small = ["--streams", "2", "--rows", "60", "--workers", "1", "--repeats", "1"]
    assert many_streams.main(small, said.append) == 0

    names = [line[:28].strip() for line in said[2:]]
    assert names == [
        *(f"{name}, {way}" for name in many_streams.OURS for way in ("here", "1 processes")),
        "Vowpal Wabbit",
    ]
