"""What the tasks add to their functions; whole flows have tests of their own."""


def test_artifacts_of_two_suites_have_two_histories():
    from leaseboard.tasks.steps.prefect_tasks import artifact_key

    assert artifact_key("quick", "leaderboard") == "quick-leaderboard"
    keys = {artifact_key(name, "leaderboard") for name in ("日本", "売上", "a b", "a.b", "a_b")}
    assert len(keys) == 5
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)
