"""A real browser behind the proxy: its process is killed, its database becomes unavailable, and its draft is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers import browser
from helpers.browser import expect
from stack import Stack, metric, running_stack

from bench.server import wait_until
from triptych.storage.unavailable import UNREACHABLE
from triptych.web.session import cookie_name

pytestmark = [pytest.mark.deploy, pytest.mark.browser]


@pytest.fixture(scope="module")
def stack(tmp_path_factory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("deploy"), annotators=1) as made:
        yield made


chromium = browser.chromium


@pytest.fixture
def page(stack, chromium):
    context = chromium.new_context(ignore_https_errors=True)
    ((name, value),) = stack.world.cookies[0].items()
    name = cookie_name(name, https=True)
    context.add_cookies([{"name": name, "value": value, "url": stack.proxy.url, "httpOnly": True, "secure": True}])
    page = context.new_page()
    page.goto(f"{stack.proxy.url}/annotate?study={stack.world.slug}")
    page.wait_for_selector(browser.WORKBENCH)
    yield page
    context.close()


def rate(page, point: int, letter: str = "A") -> None:
    """Also in a row that is folded to its answers, or of a response that is not in hand."""
    browser.radio(page, f"{letter}:fluency", str(point)).evaluate("(input) => input.click()")


def process_of(stack: Stack) -> int:
    """The process that the one open page is connected to."""
    return next(n for n, server in enumerate(stack.servers) if metric(server, "triptych_connections"))


def test_a_draft_over_tls_survives_the_death_of_its_process(stack, page):
    rate(page, 2)
    expect(browser.saved(page)).to_have_attribute("data-state", "saved")
    before, killed = browser.token(page), process_of(stack)
    stack.servers[killed].kill()
    rate(page, 5, "B")

    other = stack.servers[1 - killed]
    wait_until(lambda: metric(other, "triptych_connections") == 1, other, "take the page over")
    expect(browser.saved(page)).to_have_attribute("data-state", "saved")
    assert browser.token(page) == before
    page.reload()
    page.wait_for_selector(browser.WORKBENCH)
    expect(browser.radio(page, "A:fluency", "2")).to_be_checked()
    expect(browser.radio(page, "B:fluency", "5")).to_be_checked()
    browser.answer_all(page)
    browser.submit(page)
    stack.start(killed)


def test_while_the_database_is_unavailable_the_workbench_keeps_the_draft(stack, page, request):
    request.addfinalizer(stack.cluster.start)
    rate(page, 3)
    expect(browser.saved(page)).to_have_attribute("data-state", "saved")
    stack.cluster.stop()
    rate(page, 6)
    expect(browser.saved(page)).to_have_attribute("data-state", "waiting")
    second = page.context.new_page()
    second.goto(f"{stack.proxy.url}/my_work")
    expect(second.get_by_text(UNREACHABLE)).to_be_visible()

    stack.cluster.start()

    expect(browser.saved(page)).to_have_attribute("data-state", "saved")
    expect(second.get_by_text(UNREACHABLE)).to_be_hidden()
    second.goto(f"{stack.proxy.url}/annotate?study={stack.world.slug}")
    expect(browser.radio(second, "A:fluency", "6")).to_be_checked()
