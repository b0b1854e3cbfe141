"""The page of `ocucb serve` in a real browser: on a desk and a phone, in light and dark."""

from __future__ import annotations

import random

import pytest

from helpers import wait_until
from ocucb.serve.client import Client
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
    server = Server(str(tmp_path_factory.mktemp("page") / "store.db"), "--log-level", "warning")
    token = server.token()
    rng = random.Random(1)
    with Client(server.url, "shop", token) as client:
        client.create(
            NAMES, "ocucb", 5000, bounds=[0, 1], control="plain", control_share=0.1, floor=0.02,
            expiry=3600, seed=1,
        )  # fmt: skip
        for _ in range(12):
            decisions = client.ask(25)
            rewards = [float(rng.random() < 0.2 + 0.1 * NAMES.index(d.arm)) for d in decisions]
            client.tell(decisions[:23], rewards[:23])
    yield server, token
    assert server.terminate() == 0


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

    assert look(browser, ".pages a", "one.hidden") == [True, True], "all are on this page"
    with Client(server.url, "another", token) as client:
        client.create(["a", "b"], "ocucb", 100, bounds=[0, 1])
    browser.get(f"{server.url}/?limit=1")
    wait_until(lambda: look(browser, "#bandits a", "one.innerText") == ["another"], "a page")
    assert look(browser, ".pages a", "one.hidden") == [True, False]
    look(browser, "#next", "one.click()")
    wait_until(lambda: look(browser, "#bandits a", "one.innerText") == ["shop"], "the next page")
    assert look(browser, ".pages a", "one.hidden") == [False, True]

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
            size = "return [document.documentElement.scrollWidth, window.innerWidth]"
            wide, room = browser.execute_script(size)
            assert wide <= room, "nothing sticks out"
            browser.get(f"{server.url}/")
            wait_until(lambda: "shop" in text(browser, "main"), "the list")
            wide, room = browser.execute_script(size)
            assert wide <= room
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
    browser.get(f"{server.url}/login")
    browser.find_element("name", "token").send_keys(token)
    browser.find_element("css selector", ".login button").click()
    wait_until(lambda: "unknown" in text(browser, "main"), "the list")
    assert "10 of 1,000 or more" in " ".join(look(browser, "#bandits tbody td", "one.innerText"))
    browser.get(f"{server.url}/bandits/unknown")
    wait_until(lambda: look(browser, "#arms svg circle", "1"), "the arms")
    assert "sigma unknown (intervals hold for normal rewards)" in text(browser, "#rules")
    titles = look(browser, "#arms svg title", "one.textContent")
    assert all(title.endswith("too few rewards for an interval") for title in titles)
    assert look(browser, "#arms svg line.stroked[stroke-width='3']", "1") == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def look_at_the_bandit(browser):
    wait_until(lambda: look(browser, "#rewards polyline", "1"), "the curves")
    assert browser.title == "shop · ocucb", "no arm's name was run"
    assert look(browser, "main img, main script", "one.outerHTML") == []
    assert look(browser, "#arms td.name", "one.title") == NAMES
    assert look(browser, "#arms td.name", "one.textContent")[-1] == "plain (control)"
    assert look(browser, "#shares .legend > span", "one.textContent") == NAMES
    areas = look(browser, "#shares polygon", "one.getBoundingClientRect().width")
    assert len(areas) == len(NAMES)
    assert min(areas) > 200
    assert len(look(browser, "#arms svg circle", "1")) == len(NAMES)
    assert len(look(browser, "#rewards polyline", "1")) == 2
    assert text(browser, "#next").startswith("round 30")
    assert "The control 'plain' gets 10%." in text(browser, "#next")
    assert text(browser, "#total-expired") == "0"
