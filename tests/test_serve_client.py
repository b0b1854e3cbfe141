"""The client of the service: its verbs, what it repeats and when it gives up; metrics."""

from __future__ import annotations

import pytest

from ocucb.serve.client import Client, Decision, ServiceError
from serving import Http


class Wire:
    """The transport of a client, with an application at its end, that loses what it is told to."""

    def __init__(self, http: Http) -> None:
        self.http, self.lose_requests, self.lose_answers, self.sent = http, 0, 0, []

    def attach(self, client: Client) -> None:
        client._http._transport = self

    def handle_request(self, request):
        import httpx

        self.sent.append(request)
        if self.lose_requests:
            self.lose_requests -= 1
            raise httpx.ConnectError("lost on the way")
        answer = self.http.client.request(
            request.method, str(request.url.raw_path, "ascii"), content=request.read(),
            headers=dict(request.headers),
        )  # fmt: skip
        if self.lose_answers:
            self.lose_answers -= 1
            raise httpx.ReadTimeout("lost on the way back")
        return httpx.Response(answer.status_code, content=answer.content)

    def close(self):
        pass


@pytest.fixture
def client(http):
    made = Client("http://testserver", "shop", http.admin, patience=60)
    made.wire = Wire(http)
    made.wire.attach(made)
    made.create(["a", "b"], "ocucb", 1000, bounds=[0, 1])
    with made:
        yield made


def test_the_client_has_the_verbs_of_a_bandit(client, http):
    client.create(["a", "b"], "ocucb", 1000, bounds=[0, 1])
    decision = client.ask()
    assert isinstance(decision, Decision)
    assert decision.arm == "a"
    assert client.tell(decision, 0.5) == "accepted"
    assert client.tell(decision.id, 0.25) == "conflict"
    several = client.ask(3)
    assert client.tell(several, [1, 0, 1]) == ["accepted"] * 3
    assert client.ask(unit="anna") == client.ask(unit="anna")
    client.add("c")
    client.retire(["a"])
    client.extend(5000)
    client.pause()
    with pytest.raises(ServiceError, match="is paused") as caught:
        client.ask()
    assert caught.value.status == 409
    client.resume()
    found = client.summary()
    assert (found["horizon"], found["paused"]) == (5000, False)
    with pytest.raises(ValueError, match="one reward for each decision, got 3 decisions and 1"):
        client.tell(several, [1])


def test_the_client_needs_to_tell_nothing_but_arms(http):
    with Client("http://testserver", "bare", http.admin) as bare:
        Wire(http).attach(bare)
        bare.create(["a", "b"])
        assert bare.tell(bare.ask(), 12.5) == "accepted"
        found = bare.summary()
        assert (found["sigma"], found["open_horizon"]) == (None, True)
        bare.create(["a", "b"], policy=None, horizon=None)


def test_the_client_repeats_safely_what_was_lost(client, http):
    for lost in ("lose_requests", "lose_answers"):
        setattr(client.wire, lost, 2)
        before = client.summary()["totals"]["decisions"] if lost == "never" else None
        client.wire.sent.clear()
        decision = client.ask()
        keys = {request.headers["idempotency-key"] for request in client.wire.sent}
        assert (len(client.wire.sent), len(keys)) == (3, 1), before
        setattr(client.wire, lost, 1)
        assert client.tell(decision, 0.5) in ("accepted", "duplicate")
    totals = client.summary()["totals"]
    assert (totals["decisions"], totals["rewards"]) == (2, 2), "nothing happened twice"


def test_the_client_gives_up_in_time_and_repeats_no_refusal(http):
    impatient = Client("http://127.0.0.1:9", "shop", "x", timeout=0.2, patience=0.1)
    with impatient, pytest.raises(ServiceError, match="does not answer") as caught:
        impatient.ask()
    assert caught.value.status is None
    stranger = Client("http://testserver", "shop", "ocucb_1_x")
    wire = Wire(http)
    wire.attach(stranger)
    with pytest.raises(ServiceError, match="a valid token is needed"):
        stranger.ask()
    assert len(wire.sent) == 1


def test_metrics_are_what_prometheus_reads(http):
    from prometheus_client.parser import text_string_to_metric_families

    http("POST", "/v1/bandits/x/decisions", {"count": 7})
    http("POST", "/v1/bandits/nobody/decisions")
    answer = http("GET", "/metrics")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["ocucb_events_total", (("bandit", "x"), ("kind", "decision"))] == 7
    route = "/v1/bandits/{name}/decisions"
    labels = [("method", "POST"), ("route", route)]
    for status in ("200", "404"):
        assert samples["ocucb_http_requests_total", (*labels, ("status", status))] == 1
    assert samples["ocucb_http_seconds_count", (("route", route),)] == 2
