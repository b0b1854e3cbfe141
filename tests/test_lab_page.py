"""The page of `ocucb lab` in a real browser: on a desk and a phone, in light and dark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest

from helpers import wait_until
from ocucb.lab.state import read
from ocucb.lab.stories import STORIES

SMALL = "means=0,-0.5&horizon=300&policy=ocucb&policy=ucb&race=50"


@pytest.fixture(scope="module")
def lab():
    """`ocucb lab` in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ocucb", "lab", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.url = process.stdout.readline().split()[1].rstrip("/")
    yield process
    process.terminate()
    assert process.wait(60) == 0


def device(browser, width, height, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


def look(browser, selector, what="one.innerText"):
    """Return something about every element that matches, in order."""
    script = f"return [...document.querySelectorAll(arguments[0])].map((one) => {what})"
    return browser.execute_script(script, selector)


def state_of(browser):
    return read(urlsplit(browser.current_url).query)


def settled(browser, query=None):
    """Wait until numbers are as sharp as they get, and, if asked for, of this very state."""

    def done():
        return look(browser, "#status", "one.dataset.state") == ["done"] and (
            query is None or state_of(browser) == read(query)
        )

    wait_until(done, "the numbers are sharp", 120)


def show(browser, lab, query, more=""):
    browser.get(f"{lab.url}/?{query}{more}")
    settled(browser)


def put(browser, selector, value, event="change"):
    """Give a control a value, as somebody would who slides or types."""
    browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event(arguments[2], { bubbles: true }));",
        selector, value, event,
    )  # fmt: skip


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_each_control_changes_what_it_says(browser, lab):
    device(browser, 1280, 900)
    show(browser, lab, SMALL)
    before = look(browser, "#regret .keys b")
    assert len(before) == 2
    assert all(re.match(r"[\d.,]+ ± [\d.,]+$", text) for text in before)

    def changes(act, check):
        act()
        wait_until(lambda: check(state_of(browser)), "the address")
        settled(browser)
        assert look(browser, "#problem", "one.hidden") == [True]

    def click(selector):
        browser.execute_script("document.querySelector(arguments[0]).click()", selector)

    changes(lambda: put(browser, ".values input:nth-child(2)", "-0.8"),
            lambda state: state.settings[0].means == (0.0, -0.8))  # fmt: skip
    assert look(browser, "#regret .keys b") != before
    changes(lambda: put(browser, "#horizon", 2.3, "input"), lambda state: state.horizon == 200)
    assert look(browser, "#horizon-text") == ["200 rounds"]
    changes(lambda: put(browser, "#seed", 5), lambda state: state.seed == 5)
    slider = "#policies li:first-child .control:nth-of-type(2) input[type=range]"
    changes(lambda: put(browser, slider, 0.0, "input"),
            lambda state: state.players[0].parameters["alpha"] == 1.0)  # fmt: skip
    assert "proved" in look(browser, "#notes")[0]
    changes(lambda: put(browser, "#policies li:nth-child(2) select", "moss"),
            lambda state: state.players[1].family.name == "moss")  # fmt: skip
    changes(lambda: click("#policies li:nth-child(2) button"),
            lambda state: len(state.players) == 1)  # fmt: skip
    changes(lambda: click("#add-policy"), lambda state: len(state.players) == 2)
    changes(lambda: click(".setting .row2 button:last-child"),
            lambda state: len(state.settings[0].means) == 3)  # fmt: skip
    changes(lambda: click(".setting input[type=checkbox]"),
            lambda state: len(state.settings[0].sigma) == 3)  # fmt: skip
    changes(lambda: click("#second"), lambda state: len(state.settings) == 2)
    assert len(look(browser, "#regret .cell")) == 2
    changes(lambda: put(browser, ".setting:nth-child(2) select", "bernoulli"),
            lambda state: state.settings[1].rewards == "bernoulli")  # fmt: skip
    for name in ("log", "bounds"):
        painted = browser.execute_script(
            "return document.querySelector('#regret canvas').toDataURL()"
        )
        click(f"#{name}")
        now = browser.execute_script("return document.querySelector('#regret canvas').toDataURL()")
        assert painted != now, name
    assert urlsplit(browser.current_url).fragment == "y=log&bounds=1"
    assert errors(browser) == []


def test_bars_are_dragged_and_moved_by_keys(browser, lab):
    device(browser, 1280, 900)
    show(browser, lab, SMALL)
    from selenium.webdriver import ActionChains, Keys

    arm = browser.find_element("css selector", ".arm:nth-child(2)")
    ActionChains(browser).move_to_element(arm).click_and_hold().move_by_offset(
        0, 40
    ).release().perform()
    wait_until(lambda: state_of(browser).settings[0].means[1] != -0.5, "the mean follows")
    dragged = state_of(browser).settings[0].means[1]
    assert look(browser, ".arm", "Number(one.getAttribute('aria-valuenow'))")[1] == dragged
    browser.find_element("css selector", ".arm:nth-child(2)").send_keys(Keys.ARROW_UP)
    wait_until(lambda: state_of(browser).settings[0].means[1] > dragged, "an arrow raises it")
    focused = browser.execute_script("return document.activeElement.getAttribute('aria-label')")
    assert focused == "Mean of arm 2", "the focus stays"


def test_an_address_restores_the_page(browser, lab):
    device(browser, 1280, 900)
    query = "means=0,-0.5,-1&sigma=1,2,0.5&horizon=400&policy=ucb:constant=3.5&policy=ocucb&seed=9"
    show(browser, lab, query, "#y=log&bounds=1&open=gaps,race")
    assert state_of(browser) == read(query)
    assert look(browser, ".values input", "Number(one.value)") == [0, -0.5, -1]
    assert look(browser, "#policies select", "one.value") == ["ucb", "ocucb"]
    assert look(browser, "#policies input[type=number]", "Number(one.value)") == [3.5, 3, 2]
    assert look(browser, "#log, #bounds", "one.checked") == [True, True]
    wait_until(lambda: len(look(browser, "#gaps .keys li")) == 2, "the curve over the gap", 120)
    wait_until(lambda: look(browser, "#told")[0].startswith("In round"), "the race", 120)
    for figure in ("regret", "tails", "shares", "race"):
        code = look(browser, f"#{figure} pre.python", "one.textContent")
        assert len(code) == 1, figure
        assert "[0.0, -0.5, -1.0], [1.0, 2.0, 0.5]" in code[0]
    take = look(browser, "#regret .take a", "one.href")
    for link, head in zip(take, (b"\x89PNG", b"<?xml", b"problem"), strict=True):
        with urllib.request.urlopen(link, timeout=60) as file:
            assert file.read().startswith(head)


def test_an_address_that_is_wrong_says_so(browser, lab):
    device(browser, 1280, 900)
    browser.get(f"{lab.url}/?means=0,-0.5&policy=ocucb:alpha=-1")
    wait_until(lambda: "must be > 0" in look(browser, "#problem")[0], "a sentence")
    put(browser, "#policies input[type=number]", "3")
    settled(browser)
    assert look(browser, "#problem", "one.hidden") == [True]


def test_the_race_plays_pauses_and_steps(browser, lab):
    device(browser, 1280, 900)
    show(browser, lab, SMALL, "#open=race")
    wait_until(lambda: look(browser, "#told")[0].startswith("In round 50"), "the race", 120)

    def round_now():
        return int(look(browser, "#round", "one.value")[0])

    def press(name):
        browser.execute_script("document.getElementById(arguments[0]).click()", name)

    press("back")
    assert round_now() == 49
    press("step")
    assert round_now() == 50
    press("play")
    assert look(browser, "#play") == ["Pause"]
    wait_until(lambda: 3 < round_now() < 50, "it plays")
    press("play")
    assert look(browser, "#play") == ["Play"]
    told = look(browser, "#told")[0]
    assert told.startswith(f"In round {round_now()}, OCUCB plays arm")
    assert "index" in told
    put(browser, "#racer", "1")
    wait_until(
        lambda: "UCB plays" in look(browser, "#told")[0].replace("OCUCB", ""), "UCB's race", 120
    )


def told(browser, story):
    """Tell whether a story's title, state and figure are there."""
    return (
        look(browser, "#story h2") == [story.title]
        and state_of(browser) == read(story.address)
        and look(browser, f"#{story.figure}", "one.className") == ["card figure"]
        and len(look(browser, f"#{story.figure} .keys li")) > 0
    )


@pytest.mark.slow
def test_stories_run(browser, lab):
    """Each shows its state, says its text and draws its figure."""
    device(browser, 1280, 900)
    show(browser, lab, SMALL)
    for number, story in enumerate(STORIES):
        browser.execute_script(
            "document.querySelectorAll('.stories li button')[arguments[0]].click()", number
        )
        wait_until(partial(told, browser, story), story.title, 300)
        assert look(browser, "#story p") == [story.text]
        assert look(browser, "#problem", "one.hidden") == [True]
    browser.back()
    wait_until(lambda: state_of(browser) == read(STORIES[-2].address), "the one before")
    assert errors(browser) == []


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_page_that_is_left_frees_the_processor(browser, lab):
    """Minutes of work are dropped: after the page has gone, the server is idle."""
    device(browser, 1280, 900)
    browser.get(f"{lab.url}/?means=0,-0.5&horizon=100000000&policy=uniform")
    wait_until(lambda: "first runs" in look(browser, "#status")[0], "it plays", 60)
    began = processor_seconds(lab.pid)
    wait_until(lambda: processor_seconds(lab.pid) > began + 0.3, "it is busy", 60)
    browser.get("about:blank")

    def idle():
        before = processor_seconds(lab.pid)
        time.sleep(0.5)
        return processor_seconds(lab.pid) - before < 0.1

    wait_until(idle, "it is idle", 30)


def test_ten_visitors_at_once_all_get_numbers(lab):
    """Their streams are read side by side; nobody is left without the first numbers."""
    answers = [
        urllib.request.urlopen(f"{lab.url}/runs?{SMALL}&seed={seed}", timeout=60)
        for seed in range(10)
    ]
    for answer in answers:
        text = answer.read().decode()
        assert "event: numbers" in text
        assert "event: done" in text
    seeds = set()
    for answer in answers:
        seeds.add(parse_qs(urlsplit(answer.url).query)["seed"][0])
    assert len(seeds) == 10


def test_it_fits_everywhere_and_asks_nobody_else(browser, lab):
    for width, height in ((1280, 900), (390, 844)):
        for scheme in ("light", "dark"):
            device(browser, width, height, scheme)
            show(browser, lab, SMALL)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            light = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", light)[:3])) > 380) == (scheme == "light")
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert len(loaded) > 8
    assert all(name.startswith(lab.url) for name in loaded)
    assert errors(browser) == []


def test_whoever_cannot_see_it_has_words(browser, lab):
    """Every control has a name, figures say their numbers, and the status is announced."""
    device(browser, 1280, 900)
    show(browser, lab, SMALL)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "slider", "spinbutton", "combobox", "checkbox", "image", "img", "link"}
    nameless = [
        node for node in tree
        if not node["ignored"] and node["role"]["value"] in roles and not node["name"]["value"]
    ]  # fmt: skip
    assert nameless == [], json.dumps(nameless)[:500]
    assert "Mean regret after 300 rounds" in look(browser, "#regret canvas", "one.ariaLabel")[0]
    assert look(browser, "#status", "one.getAttribute('aria-live')") == ["polite"]
