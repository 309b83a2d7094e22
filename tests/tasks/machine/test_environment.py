"""Where things are: one's own configuration first, what is shipped besides."""

import os
import urllib.request

import httpx
import pytest
import requests
from websockets.proxy import get_proxy
from websockets.uri import parse_uri

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import load_suite, suite_names
from leaseboard.tasks.machine import environment


def test_the_user_s_own_settings_win(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    environment.prepare_environment(tmp_path)

    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "true"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".prefect")


HOSTS = {
    "": "", "example.org": "example.org", "10.0.0.0/8, .corp": "10.0.0.0/8,.corp",
    "*": "*", "a.org,*": "*", "fd00::/8": "", "fe80::1": "fe80::1",
    "127.0.0.1:8080": "127.0.0.1:8080", "é.org": "",
}  # fmt: skip
PROXIES = {
    "": True, "http://127.0.0.1:9": True, "127.0.0.1:9": True, "https://me:p@[::1]:9": True,
    "socks://127.0.0.1:9": False, "socks5://127.0.0.1:9": False, "direct://": False,
}  # fmt: skip


CASES = [("HTTP_PROXY", "http://127.0.0.1:9", hosts) for hosts in HOSTS]
CASES += [("http_proxy", proxy, "") for proxy in PROXIES]
CASES += [(name, "socks://127.0.0.1:9", "") for name in ("https_proxy", "ALL_PROXY", "all_proxy")]


@pytest.mark.filterwarnings("ignore:.* is not used")
@pytest.mark.parametrize(("name", "proxy", "hosts"), CASES)
def test_every_client_calls_this_machine_without_a_proxy(monkeypatch, name, proxy, hosts):
    monkeypatch.setattr(os, "environ", {name: proxy, "NO_PROXY": hosts})
    environment.prepare_environment()
    assert (name in os.environ) == PROXIES[proxy]
    own = [] if HOSTS[hosts] == "*" else ["127.0.0.1", "localhost", "::1"]
    assert os.environ["NO_PROXY"].split(",") == [*filter(None, HOSTS[hosts].split(",")), *own]
    with httpx.Client(verify=False) as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            address = f"http://{host}:4200/api"
            assert client._transport_for_url(httpx.URL(address)) is client._transport
            assert not requests.utils.get_environ_proxies(address)
            assert urllib.request.proxy_bypass(host.strip("[]"))
            assert get_proxy(parse_uri(f"ws://{host}:4200/api")) is None


def test_a_proxy_that_is_left_out_is_named_without_its_password(monkeypatch):
    monkeypatch.setattr(os, "environ", {"ALL_PROXY": "socks://me:secret@127.0.0.1:9"})
    with pytest.warns(UserWarning, match="^ALL_PROXY 'socks://\\*\\*\\*@127.0.0.1:9' is not used"):
        environment.prepare_environment()


SUITE = "title: mine\ndata: ['sklearn:wine']\nalgorithms: [vanilla]\n"


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Return a configuration folder of one's own, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "conf"
    (folder / "suites").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "suites" / "quick.yaml").write_text(SUITE)
    (folder / "data" / "mine.yaml").write_text("reference: sklearn:wine\n")
    return folder


def test_ones_own_suite_hides_the_shipped_one_of_its_name_and_no_other(conf):
    assert environment.conf_dir() == conf
    assert load_suite("quick", conf).title == "mine"
    assert load_suite("safety-streams", conf).title != "mine"
    assert {"quick", "ci", "paper-chacha"} <= set(suite_names(conf))


def test_a_conf_folder_of_another_program_is_not_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "nginx").mkdir(parents=True)

    assert environment.own_conf() is None
    assert environment.conf_dir() == environment.shipped_conf().resolve()


def test_a_named_folder_must_be_one(tmp_path):
    with pytest.raises(UsageError, match=r"--conf .* is not a folder"):
        environment.conf_dir(tmp_path / "nowhere")
