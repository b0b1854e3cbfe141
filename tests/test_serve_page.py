"""The page of `ocucb serve` in a real browser: on a desk and a phone, in light and dark."""

from __future__ import annotations

import random

import pytest

from helpers import wait_until
from ocucb.serve.client import Client
from ocucb.serve.storage import Storage
from ocucb.serve.tokens import add_token
from serving import Server

NAMES = [
    "<img src=x onerror=\"document.title='hacked'\">",
    "<script>document.title='hacked'</script>",
    "\u202egnp.exe 'quoted' \"twice\"",
    "a name that goes on and on, although nobody has asked it to, until there is no room",
    "plain",
]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("page") / "store.db")
    server = Server(store, "--log-level", "warning")
    server.store = store
    token = server.token()
    rng = random.Random(1)
    with Client(server.url, "shop", token) as client:
        client.create(
            NAMES, "ocucb", 5000, bounds=[0, 1], control="plain", control_share=0.1, floor=0.02,
            expiry=3600, seed=1, guardrail={"metric": "errors", "most": 0.5, "bounds": [0, 1]},
        )  # fmt: skip
        for _ in range(12):
            decisions = client.ask(25)
            rewards = [float(rng.random() < 0.2 + 0.1 * NAMES.index(d.arm)) for d in decisions]
            client.tell(decisions[:23], rewards[:23], [0.0] * 23)
    yield server, token
    assert server.terminate() == 0


# The part of the chart of shares that is painted, whatever the colour.
PAINTED = """
const { chartArea: area, ctx, currentDevicePixelRatio: ratio } = Chart.getChart('shares');
const [x, y, w, h] = [area.left + 2, area.top + 2, area.width - 4, area.height - 4];
const { data } = ctx.getImageData(x * ratio, y * ratio, w * ratio, h * ratio);
let painted = 0;
for (let i = 3; i < data.length; i += 4) painted += data[i] > 200;
return painted / (data.length / 4);
"""

# The page replaces its elements whenever something happens: look at them in one go, in the page.


def look(browser, selector, what):
    """Return something about every element that matches, in order."""
    script = f"return [...document.querySelectorAll(arguments[0])].map((one) => {what})"
    return browser.execute_script(script, selector)


def text(browser, selector):
    """Return the text of an element, or nothing if it is not there yet."""
    return "".join(look(browser, selector, "one.innerText")[:1]).strip()


def device(browser, width, height, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


def brightness(browser) -> float:
    """Return how light the page is, from 0 to 255."""
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3


def test_the_page_in_a_browser(browser, played):
    server, token = played
    device(browser, 1280, 900)
    browser.get(f"{server.url}/bandits/shop")
    assert browser.current_url == f"{server.url}/login", "nothing without a token"
    browser.find_element("name", "token").send_keys("ocucb_1_wrong")
    browser.find_element("css selector", ".login button").click()
    wait_until(lambda: "not valid" in text(browser, ".login"), "a wrong token is refused")
    browser.get_log("browser")  # tells of the 401
    browser.find_element("name", "token").send_keys(token)
    browser.find_element("css selector", ".login button").click()
    wait_until(lambda: "shop" in text(browser, "main"), "the list")
    row = " ".join(look(browser, "#bandits tbody td", "one.innerText"))
    assert "OCUCB" in row
    assert "301 of 5,000" in row
    assert row.startswith("shop ok")
    assert browser.execute_script("return document.cookie") == "", "scripts cannot see the token"

    assert look(browser, "#first, #next", "one.hidden") == [True, True], "all are on this page"
    with Client(server.url, "another", token) as client:
        client.create(["a", "b"], "ocucb", 100, bounds=[0, 1])
    browser.get(f"{server.url}/?limit=1")
    wait_until(lambda: look(browser, "#bandits a", "one.innerText") == ["another"], "a page")
    assert look(browser, "#first, #next", "one.hidden") == [True, False]
    look(browser, "#next", "one.click()")
    wait_until(lambda: look(browser, "#bandits a", "one.innerText") == ["shop"], "the next page")
    assert look(browser, "#first, #next", "one.hidden") == [False, True]

    look(browser, "#bandits a", "one.click()")
    wait_until(lambda: text(browser, "#connection") == "live", "the bandit")
    look_at_the_bandit(browser)

    # live: what happens elsewhere appears without a reload
    browser.execute_script("window.mark = 'the same page'")
    with Client(server.url, "shop", token) as client:
        decision = client.ask()
        wait_until(lambda: text(browser, "#total-decisions") == "301", "a decision appears", 20)
        client.tell(decision, 1)
        wait_until(lambda: text(browser, "#total-rewards") == "277", "a reward appears", 20)
        client.pause()
        wait_until(lambda: text(browser, "#state") == "paused", "a pause appears", 20)
        client.resume()
        wait_until(lambda: text(browser, "#state") == "running", "the end of it, too", 20)
    assert browser.execute_script("return window.mark") == "the same page"

    # nothing beyond the server
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert len(loaded) >= 5
    assert all(name.startswith(server.url) for name in loaded)

    for width, height in ((1280, 900), (390, 844)):
        for scheme in ("light", "dark"):
            device(browser, width, height, scheme)
            browser.get(f"{server.url}/bandits/shop")
            wait_until(lambda: text(browser, "#connection") == "live", "the bandit")
            look_at_the_bandit(browser)
            assert (brightness(browser) > 200) == (scheme == "light")
            assert (brightness(browser) < 60) == (scheme == "dark")
            assert_all_fits(browser)
            browser.get(f"{server.url}/")
            wait_until(lambda: "shop" in text(browser, "main"), "the list")
            assert_all_fits(browser)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []

    browser.find_element("css selector", ".top button").click()
    wait_until(lambda: browser.current_url.endswith("/login"), "logged out")
    browser.get(f"{server.url}/")
    assert browser.current_url == f"{server.url}/login"


def test_the_page_says_that_sigma_is_unknown(browser, played):
    server, token = played
    with Client(server.url, "unknown", token) as client:
        client.create(["a", "b"], seed=1)
        decisions = client.ask(9)
        client.tell(decisions[:8], [0.5, 1.5, 0.25, 2.0, 1.0, 0.75, 0.8, 1.2])
    device(browser, 1280, 900)
    log_in(browser, server, token)
    assert "10 of 1,000 or more" in " ".join(look(browser, "#bandits tbody td", "one.innerText"))
    browser.get(f"{server.url}/bandits/unknown")
    wait_until(lambda: look(browser, "#arms .bar .mean", "1"), "the arms")
    assert "sigma unknown (intervals hold for normal rewards)" in text(browser, "#rules")
    ends = look(browser, "#arms .ends", "one.textContent")
    assert set(ends) == {"too few rewards for an interval"}
    assert look(browser, "#arms .bar .range", "1") == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_administrators_act_on_the_page_once_they_have_confirmed(browser, played):
    server, token = played
    device(browser, 390, 844)
    log_in(browser, server, token)
    look(browser, "summary", "one.click()")
    given = {"name": "made-here", "arms": "first\n<b>second</b>\n\n", "expiry": "60"}
    for name, value in given.items():
        browser.find_element("css selector", f"#create [name={name}]").send_keys(value)
    press(browser, "#create button")
    wait_until(lambda: browser.current_url.endswith("/bandits/made-here"), "it is made")
    wait_until(lambda: text(browser, "#connection") == "live", "the bandit")
    with Client(server.url, "made-here", token) as client:
        found = client.summary()
        assert [arm["arm"] for arm in found["arms"]] == ["first", "<b>second</b>"]
        assert (found["bounds"], found["expiry"], found["open_horizon"]) == ([0, 1], 60, True)

        press(browser, "[data-change=paused]", confirm=False)
        assert not client.summary()["paused"], "nothing happens unconfirmed"
        press(browser, "[data-change=paused]")
        wait_until(lambda: text(browser, "#state") == "paused", "paused")
        wait_until(lambda: text(browser, "[data-change=paused]") == "Resume", "resume")
        press(browser, "[data-change=paused]")
        wait_until(lambda: not client.summary()["paused"], "resumed")
        browser.find_element("css selector", "#add input").send_keys("third")
        press(browser, "#add button")
        wait_until(lambda: len(client.summary()["arms"]) == 3, "a new arm")
        browser.find_element("css selector", "#extend input").send_keys("5000")
        press(browser, "#extend button")
        wait_until(lambda: client.summary()["horizon"] == 5000, "a horizon")
        browser.find_element("css selector", "#extend input").send_keys("7")
        press(browser, "#extend button")
        wait_until(lambda: "horizon" in text(browser, "#manage .problem"), "why not")
        wait_until(lambda: len(look(browser, "#arms .acts button", "1")) == 3, "three arms")
        press(browser, "#arms .acts button")
        wait_until(lambda: client.summary()["arms"][0]["retired"], "retired")
        wait_until(lambda: text(browser, "#arms .acts button") == "Bring back", "and back")
        press(browser, "#arms .acts button")
        wait_until(lambda: not client.summary()["arms"][0]["retired"], "brought back")
        wait_until(lambda: len(look(browser, "#winner option", "1")) == 3, "three to choose from")
        look(browser, "#winner select", "one.value = 'third'")
        press(browser, "#winner button")
        left = lambda: [one["arm"] for one in client.summary()["arms"] if not one["retired"]]  # noqa: E731
        wait_until(lambda: left() == ["third"], "the winner")
        press(browser, "[data-change=archived]")
        wait_until(lambda: text(browser, "#state") == "archived", "archived")
    refusals = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert all("409" in entry["message"] for entry in refusals), "of a shorter horizon"
    browser.get(f"{server.url}/?archived=true")
    wait_until(lambda: "made-here" in text(browser, "#bandits"), "the list of archived ones")


def test_who_may_not_administer_sees_nothing_to_press(browser, played, tmp_path):
    server, _ = played
    decider = add_token(storage := Storage(server.store), "decide")
    storage.close()
    device(browser, 1280, 900)
    log_in(browser, server, decider)
    assert look(browser, "#create, meta[name=csrf]", "1") == []
    browser.get(f"{server.url}/bandits/shop")
    wait_until(lambda: text(browser, "#connection") == "live", "the bandit")
    assert look(browser, "#manage, .acts, meta[name=csrf]", "1") == []


def test_ticks_are_steps_that_a_person_would_choose(browser, played):
    server, token = played
    log_in(browser, server, token)
    load = "const { ticks } = await import('/static/page.js'); "
    script = f"{load} return arguments[0].map(([a, b]) => ticks(a, b))"
    rng = random.Random(3)
    ranges = [(0, 508), (0.031, 0.204), (-3, 12), (0, 1e-9), (5, 5), (0, 1e12), (-7e5, -2)]
    ranges += [sorted((rng.gauss(0, 1), rng.gauss(0, 1))) for _ in range(50)]
    for (low, high), marks in zip(ranges, browser.execute_script(script, ranges), strict=True):
        step = marks[1] - marks[0]
        mantissa = float(f"{step:e}".partition("e")[0])
        assert min(abs(mantissa - good) for good in (1, 2, 5, 10)) < 1e-4
        assert 2 <= len(marks) <= 8
        assert marks[0] <= low + 1e-9 * step
        assert marks[-1] >= high - 1e-9 * step
        assert marks[0] > low - step * 1.000001
    assert browser.execute_script(script, [(0, 508)]) == [[0, 200, 400, 600]]


def log_in(browser, server, token):
    browser.get(f"{server.url}/login")
    browser.find_element("name", "token").send_keys(token)
    browser.find_element("css selector", ".login button").click()
    wait_until(lambda: "shop" in text(browser, "main"), "the list")


def press(browser, selector, confirm=True):
    """Press a button, and answer the question that follows."""
    browser.execute_script(
        "setTimeout((one) => one.click(), 0, document.querySelector(arguments[0]))", selector
    )
    wait_until(lambda: asked(browser), f"the question of {selector}")
    question = browser.switch_to.alert
    question.accept() if confirm else question.dismiss()


def asked(browser):
    exceptions = pytest.importorskip("selenium.common.exceptions")
    try:
        return bool(browser.switch_to.alert.text)
    except exceptions.NoAlertPresentException:
        return False


def assert_all_fits(browser):
    """Nothing sticks out of the window, nothing is hidden behind a scroll bar or cut off."""
    size = "return [document.documentElement.scrollWidth, window.innerWidth]"
    wide, room = browser.execute_script(size)
    assert wide <= room
    cut = "getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1"
    assert not any(look(browser, "main *:not(textarea, input, select)", cut))
    reach = "[one.getBoundingClientRect().left, one.getBoundingClientRect().right]"
    for left, right in look(browser, "main td, main canvas, main .bar", reach):
        assert 0 <= left <= right <= room + 1


def look_at_the_bandit(browser):
    count = "window.Chart?.getChart(id)?.data.datasets.length ?? 0"
    drawn = f"return ['shares', 'rewards'].map((id) => {count})"
    wait_until(lambda: browser.execute_script(drawn) == [len(NAMES), 2], "the charts")
    assert browser.title == "shop · ocucb", "no arm's name was run"
    assert look(browser, "main img, main script", "one.outerHTML") == []
    names = look(browser, "#arms tbody td.name", "one.childNodes[1].textContent")
    assert names == [*NAMES[:-1], "plain (control)"]
    guards = look(browser, "#arms .guard", "one.textContent")
    assert len(guards) == len(NAMES)
    assert all(one.startswith("errors should be at most 50.0%: 0.0% (0.0% to ") for one in guards)
    assert look(browser, "#key > span", "one.textContent") == NAMES
    widths = look(browser, "main canvas", "one.getBoundingClientRect().width")
    assert min(widths) > 200
    for kind in ("mean", "range"):
        assert len(look(browser, f"#arms .bar .{kind}", "1")) == len(NAMES)
    assert len(look(browser, "#arms .bar .index", "1")) == len(NAMES) - 1, "the control has none"
    # every number can be read: rates as percentages, and a scale with ticks
    for label in ("mean", "index"):
        said = look(browser, f"#arms td[data-label={label}]", "one.innerText.trim()")
        assert all(one.endswith("%") for one in said[: len(NAMES) - 1])
    ends = look(browser, "#arms .ends", "one.innerText")
    assert all(one.count("%") == 2 for one in ends)
    scale = look(browser, "#scale span", "one.innerText")
    assert len(scale) >= 3
    assert all(one.endswith("%") for one in scale)
    ticks = "return Chart.getChart('shares').scales.x.ticks.map((one) => one.label)"
    labels = browser.execute_script(ticks)
    assert [rounds for rounds, _ in labels][:2] in (["0", "50"], ["0", "100"])
    assert all(clock.count(":") >= 1 for _, clock in labels), "and when it was"
    shares = "return Chart.getChart('shares').data.datasets.map((one) => one.said)"
    for at in zip(*browser.execute_script(shares), strict=True):
        assert sum(at) == pytest.approx(1)
    assert browser.execute_script(PAINTED) > 0.99, "no gaps between the bands"
    assert text(browser, "#next").startswith("round 30")
    assert "The control 'plain' gets 10%." in text(browser, "#next")
    assert text(browser, "#total-expired") == "0"


def test_weights_of_features_are_shown(browser, played):
    """With their intervals, once they are known; there is no verdict without a context."""
    server, token = played
    rng = random.Random(2)
    with Client(server.url, "news", token) as client:
        features = ["always", NAMES[0]]
        client.create(["sport", "arts"], features=features, bounds=[0, 1], seed=1)
        for _ in range(40):
            evening = rng.random()
            decision = client.ask(context=[1, evening])
            client.tell(
                decision, float(rng.random() < (evening if decision.arm == "arts" else 0.5))
            )
        assert client.verdict(context=[1, 0.5])["level"] == 0.95
        weights = client.summary()["weights"]
    device(browser, 1280, 900)
    browser.get(f"{server.url}/login")
    browser.find_element("name", "token").send_keys(token)
    browser.find_element("css selector", ".login button").click()
    wait_until(lambda: "shop" in text(browser, "main"), "the list")
    browser.get(f"{server.url}/bandits/news")
    wait_until(lambda: len(look(browser, "#weights tbody tr", "one")) == 4, "the weights")
    names = look(browser, "#weights td:nth-child(2)", "one.innerText")
    assert sorted(names) == sorted([*features, *features])
    shown = look(browser, "#weights td:nth-child(3)", "Number(one.innerText)")
    assert sorted(shown) == pytest.approx(sorted(row["weight"] for row in weights), abs=0.01)
    assert "of an arm together" in text(browser, "#assumed")
    assert look(browser, "#judged, #model", "one.hidden") == [True, False]
    assert look(browser, "#weights .range", "one.style.left !== one.style.right") == [True] * 4
    assert browser.title != "hacked"
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []
