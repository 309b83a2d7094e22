import os
import urllib.request

import httpx
import pytest
import requests
from websockets.proxy import get_proxy
from websockets.uri import parse_uri

from leaseboard.tasks.machine import environment


def test_the_user_s_own_settings_win(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    environment.prepare_environment(tmp_path)

    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "true"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".prefect")


@pytest.mark.parametrize("hosts", ["", "example.org", "10.0.0.0/8, .corp"])
def test_every_client_calls_this_machine_without_a_proxy(monkeypatch, hosts):
    monkeypatch.setattr(os, "environ", {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": hosts})
    environment.prepare_environment()
    with httpx.Client(verify=False) as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            address = f"http://{host}:4200/api"
            assert client._transport_for_url(httpx.URL(address)) is client._transport
            assert not requests.utils.get_environ_proxies(address)
            assert urllib.request.proxy_bypass(host.strip("[]"))
            assert get_proxy(parse_uri(f"ws://{host}:4200/api")) is None
