"""The page in a real browser: Debian's chromium without a screen, driven by selenium. Skipped where either is missing.

The application is served in this process on a port of the loopback, as ``pgsift browse`` does it.
"""

from __future__ import annotations

import functools
import http.server
import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

webdriver = pytest.importorskip("selenium.webdriver")
uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from browse_site import HOSTILE_KEY, Site, Toy  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from pgsift import Store  # noqa: E402
from pgsift.browse import Settings, create_app  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHROMEDRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not CHROMIUM or not CHROMEDRIVER, reason="chromium and chromedriver are not installed")


@dataclass(frozen=True)
class Page:
    """Where the page is served."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"


def serve(app: Any, listening: socket.socket) -> Callable[[], None]:
    """Answers in a thread until what is returned is called."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", http="h11", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
        listening.close()

    return stop


@pytest.fixture(scope="module")
def page(site: Site) -> Iterator[Page]:
    listening = socket.create_server(("127.0.0.1", 0))
    found = Page(listening.getsockname()[1], secrets.token_urlsafe(32))
    settings = Settings(dsn=site.dsn, tenant=site.tenant, judged_by="anna", embedder_of=lambda _store, _tenant: (Toy(), None))
    app = create_app(settings, token=found.token, port=found.port)
    stop = serve(app, listening)
    try:
        yield found
    finally:
        stop()
        app.close()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1280,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
        # A name of the internet that points to this machine, as one of a page that wants to get in would.
        "--host-resolver-rules=MAP rebound.example 127.0.0.1",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    started.set_page_load_timeout(60)
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(autouse=True)
def quiet(driver: Any) -> Iterator[None]:
    """No test leaves an error, a refusal of the policy or a script of a stranger behind in the console."""
    driver.get_log("browser")
    yield
    said = [entry for entry in driver.get_log("browser") if "status of 4" not in entry["message"]]
    assert said == []
    assert driver.execute_script("return window.pwned") is None


def wait(driver: Any, until: Callable[[Any], Any]) -> Any:
    return WebDriverWait(driver, 30, 0.05).until(until)


def all_of(driver: Any, selector: str) -> list[Any]:
    return list(driver.find_elements(By.CSS_SELECTOR, selector))


def one_of(driver: Any, selector: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, selector)


def press(driver: Any, *keys: str) -> None:
    webdriver.ActionChains(driver).send_keys(*keys).perform()


def focused(driver: Any) -> str:
    """The chunk of the fused hit that has the focus."""
    return str(driver.execute_script("return document.activeElement.closest('.hit')?.dataset.chunk ?? ''"))


def judged(site: Site) -> list[tuple[str, str, int, str]]:
    with psycopg.connect(site.dsn) as conn:
        return conn.execute(
            "SELECT j.query, j.key, j.grade, j.judged_by FROM sift.judgments AS j JOIN sift.tenants AS t USING (tenant_id)"
            " WHERE t.name = %s ORDER BY j.judgment_id", (site.tenant,)
        ).fetchall()  # fmt: skip


def test_searching_by_the_form(driver: Any, page: Page) -> None:
    driver.get(page.url)
    assert one_of(driver, "#q") == driver.switch_to.active_element
    press(driver, "winch brake", Keys.ENTER)
    wait(driver, lambda d: all_of(d, ".fused .hit"))
    chunk = one_of(driver, ".fused .hit").get_attribute("data-chunk")
    same = all_of(driver, f".hit[data-chunk='{chunk}']")
    assert [hit.find_element(By.XPATH, "ancestor::section").get_attribute("class") for hit in same] == ["fused", "leg lexical", "leg dense"]
    # The number of its place in the result stands in all three, in one colour.
    assert {hit.find_element(By.CSS_SELECTOR, ".pill").text.split()[0] for hit in same} == {"1"}
    assert len({hit.find_element(By.CSS_SELECTOR, ".pill").value_of_css_property("background-color") for hit in same}) == 1
    webdriver.ActionChains(driver).move_to_element(same[1]).perform()
    assert all("same" in (hit.get_attribute("class") or "") for hit in same)
    assert len(all_of(driver, ".hit.same")) == 3
    # By its rank one gets to it.
    same[0].find_element(By.CSS_SELECTOR, ".parts a").click()
    assert driver.current_url.endswith(f"#lexical-{chunk}")


def test_the_evidence_of_a_hit(driver: Any, page: Page, site: Site) -> None:
    driver.get(f"{page.url}?q=worn+linings+winch")
    hit = one_of(driver, ".fused .hit")
    assert "guide.pdf" in hit.text
    shown = hit.find_element(By.CSS_SELECTOR, ".score").text
    hit.find_element(By.CSS_SELECTOR, "a.key").click()
    wait(driver, lambda d: all_of(d, "#score"))
    passage = one_of(driver, ".passage")
    assert "page 1" in passage.find_element(By.CSS_SELECTOR, ".page").text
    ranked = all_of(driver, ".passage")[-1]
    assert [mark.text for mark in ranked.find_elements(By.CSS_SELECTOR, ".text mark")] == ["winch", "worn", "linings"]
    assert "The drum is greased" in ranked.find_element(By.CSS_SELECTOR, ".around:last-child").text
    assert one_of(driver, ".facts a").get_attribute("href") == "https://docs.example/guide.pdf#page=10"

    def numbers(selector: str) -> list[float]:
        return [float(cell.get_attribute("data-value")) for cell in all_of(driver, selector)]

    assert len(numbers(".contribution")) == 3
    assert sum(numbers(".contribution")) == numbers("#lexical-score")[0]
    assert sum(numbers(".fusion")) == numbers("#score")[0]
    with Store(site.dsn) as store:
        found = store.search(site.tenant, "worn linings winch", principals=["public"], embedder=Toy())[0]
    assert numbers("#score")[0] == pytest.approx(found.score, abs=1e-15) and shown == f"{found.score:.5f}"
    assert numbers("#lexical-score")[0] == found.lexical_score
    press(driver, Keys.ESCAPE)
    wait(driver, lambda d: all_of(d, ".fused .hit"))
    wait(driver, lambda d: focused(d) == str(found.chunk_id))


def test_marking(driver: Any, page: Page, site: Site) -> None:
    driver.get(f"{page.url}?q=ferry")
    hit = next(hit for hit in all_of(driver, ".fused .hit") if "ferry.md" in hit.text)
    chunk = hit.get_attribute("data-chunk")
    button = hit.find_element(By.CSS_SELECTOR, "button.g2")
    button.click()
    wait(driver, lambda _: button.get_attribute("aria-pressed") == "true")
    assert judged(site) == [("ferry", "ferry.md", 2, "anna")]
    assert one_of(driver, "#status").text == "Marked 2: relevant."
    driver.get(f"{page.url}?q=Ferry")  # the same query, another day
    pressed = all_of(driver, "button[aria-pressed='true']")
    assert [b.get_attribute("value") for b in pressed] == ["2"]
    assert pressed[0].find_element(By.XPATH, "ancestor::li").get_attribute("data-chunk") == chunk
    # By keys: to the hit, another grade, and back.
    while focused(driver) != chunk:
        press(driver, "j")
    press(driver, "3")
    wait(driver, lambda _: judged(site) == [("Ferry", "ferry.md", 3, "anna")])
    wait(driver, lambda d: [b.get_attribute("value") for b in all_of(d, "button[aria-pressed='true']")] == ["3"])
    press(driver, Keys.ENTER)
    wait(driver, lambda d: all_of(d, "main.evidence"))
    assert [b.get_attribute("value") for b in all_of(driver, "button[aria-pressed='true']")] == ["3"]
    press(driver, "x")
    wait(driver, lambda _: judged(site) == [])


def test_keys(driver: Any, page: Page) -> None:
    driver.get(f"{page.url}?q=winch+brake")
    chunks = [hit.get_attribute("data-chunk") for hit in all_of(driver, ".fused .hit")]
    visited = []
    for key in ("j", "j", "k", "k", "k"):
        press(driver, key)
        visited.append(focused(driver))
    assert visited == [chunks[0], chunks[1], chunks[0], chunks[0], chunks[0]]
    outline = driver.execute_script("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, parseFloat(s.outlineWidth)]")
    assert outline[0] == "solid" and outline[1] >= 2
    press(driver, "/")
    assert driver.switch_to.active_element == one_of(driver, "#q")
    press(driver, "j1/")  # letters, where one writes
    assert one_of(driver, "#q").get_attribute("value") == "j1/"
    press(driver, Keys.ESCAPE)
    press(driver, "1")  # nothing is chosen
    assert "Choose a hit first" in one_of(driver, "#status").text


def test_searching_as_others(driver: Any, page: Page) -> None:
    driver.get(f"{page.url}?q=winch&k=50&mode=lexical")
    public = len(all_of(driver, ".fused .hit"))
    one_of(driver, "details.whom summary").click()
    one_of(driver, "input[aria-label='One more principal']").send_keys("group:mine", Keys.ENTER)
    wait(driver, lambda d: len(all_of(d, ".banner .who")) == 2)
    assert [who.text for who in all_of(driver, ".banner .who")] == ["public", "group:mine"]
    assert len(all_of(driver, ".fused .hit")) == public + 1 and "hidden.md" in one_of(driver, ".fused").text
    one_of(driver, "details.whom summary").click()
    field = one_of(driver, "input[aria-label='Principal 1']")
    field.clear()
    field.send_keys(Keys.ENTER)
    wait(driver, lambda d: len(all_of(d, ".banner .who")) == 1)
    assert len(all_of(driver, ".fused .hit")) == 1


def test_errors_are_told_where_they_are(driver: Any, page: Page) -> None:
    driver.get(f"{page.url}?q=winch&filter=year+>>+1")
    assert one_of(driver, "[role=alert]").is_displayed()
    field = one_of(driver, "input[name=filter]")
    assert field.get_attribute("aria-invalid") == "true"
    assert one_of(driver, f"#{field.get_attribute('aria-describedby')}") == one_of(driver, "[role=alert]")


def test_hostile_texts_do_nothing(driver: Any, page: Page) -> None:
    driver.get(f"{page.url}?q=winch&k=50&per_document=0")
    hit = next(hit for hit in all_of(driver, ".fused .hit") if "window.pwned = 1" in hit.text)
    assert "U+202E" in hit.text and HOSTILE_KEY.split("\u202e")[0] in hit.text
    assert driver.execute_script("return [window.pwned ?? null, document.scripts.length, document.querySelectorAll('main img, main svg, iframe, base').length]") == [None, 1, 0]
    for details in all_of(driver, "details.whole summary"):
        details.click()
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    driver.get(hit.find_element(By.CSS_SELECTOR, "a.key").get_attribute("href"))
    assert "window.pwned = 1" in one_of(driver, "main").text and "characters more" in one_of(driver, "main").text
    assert driver.execute_script("return [window.pwned ?? null, document.scripts.length, document.documentElement.scrollWidth <= innerWidth]") == [None, 1, True]
    assert [a.get_attribute("href") for a in all_of(driver, ".facts a")] == []
    one_of(driver, "button.g0").click()
    wait(driver, lambda d: one_of(d, "button.g0").get_attribute("aria-pressed") == "true")
    press(driver, "x")
    wait(driver, lambda d: one_of(d, "button.g0").get_attribute("aria-pressed") == "false")


def test_without_scripts(driver: Any, page: Page, site: Site) -> None:
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(page.url)
        one_of(driver, "#q").send_keys("ferry", Keys.ENTER)
        wait(driver, lambda d: all_of(d, ".fused .hit button.g1"))[0].click()
        wait(driver, lambda d: all_of(d, ".fused .hit button.g1[aria-pressed='true']"))
        assert [row[2] for row in judged(site)] == [1]
        one_of(driver, ".fused .hit .clear:not([hidden])").click()
        wait(driver, lambda _: judged(site) == [])
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (node) => {
  for (let n = node; n; n = n.parentElement) {
    const colour = parse(getComputedStyle(n).backgroundColor);
    if (colour.length < 4 || colour[3] > 0.99) return colour;
  }
  return parse(getComputedStyle(document.documentElement).backgroundColor);
};
const bad = [];
for (const node of document.querySelectorAll("body *")) {
  if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) || !node.checkVisibility()) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
  const opacity = parseFloat(getComputedStyle(node).opacity);
  if ((a + 0.05) / (b + 0.05) * opacity < 4.5 && node.tagName !== "OPTION") bad.push([node.tagName, node.className, node.textContent.slice(0, 30), (a + 0.05) / (b + 0.05)]);
}
const nameless = [...document.querySelectorAll("input:not([type=hidden]), select, button, a")].filter((node) =>
  !(node.labels?.length || node.getAttribute("aria-label") || node.textContent.trim())).map((node) => node.outerHTML);
return [bad, nameless, document.documentElement.scrollWidth - document.documentElement.clientWidth];
"""


def test_it_can_be_read(driver: Any, page: Page) -> None:
    """Contrast of 4.5 and more, a name for every control, nothing beside the window; light and dark, at any width."""
    driver.get(f"{page.url}?q=winch+brake&k=20&why=hidden.md")
    where = one_of(driver, ".fused a.key").get_attribute("href")
    pages = (driver.current_url, where, f"{page.url}?q=winch&filter=(", f"{page.url}?as=", f"{page.url}?as=sift:writer&q=nosuchword&mode=lexical")
    try:
        for url in pages:
            driver.get(url)
            for width in (320, 390, 800, 1280):
                for scheme in ("light", "dark"):
                    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
                    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
                    bad, nameless, beside = driver.execute_script(CONTRAST)
                    assert (bad, nameless) == ([], []) and beside <= 0, (url, width, scheme)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


class TestOtherPages:
    """What a page of somebody else's in the same browser can do, though it had the address: nothing."""

    @pytest.fixture
    def evil(self, tmp_path: Path) -> Iterator[Callable[[str], str]]:
        """``evil(html)``: the address of a page with that in it, on another port of the loopback."""

        class Silent(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(tmp_path)))
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def put(text: str) -> str:
            (tmp_path / "evil.html").write_text(f"<!DOCTYPE html><title>evil</title><link rel=icon href=data:,>{text}")
            return f"http://127.0.0.1:{server.server_port}/evil.html"

        yield put
        server.shutdown()
        server.server_close()

    def test_a_form(self, driver: Any, page: Page, site: Site, evil: Callable[[str], str]) -> None:
        fields = "".join(
            f"<input name={name} value='{value}'>"
            for name, value in (("tenant", site.tenant), ("as", "public"), ("q", "ferry"), ("key", "ferry.md"), ("grade", "3"))
        )
        driver.get(evil(f"<form method=post action='{page.url}judge'>{fields}<button>x</button></form>"))
        one_of(driver, "button").click()
        wait(driver, lambda d: "from this page alone" in d.page_source)
        assert judged(site) == []

    def test_a_script_and_a_frame(self, driver: Any, page: Page, site: Site, evil: Callable[[str], str]) -> None:
        driver.get(evil("<iframe id=f></iframe>"))
        told = driver.execute_async_script(
            """
            const [url, body, done] = arguments;
            const post = fetch(url + "judge", {method: "POST", mode: "no-cors", body, headers: {"Content-Type": "application/x-www-form-urlencoded"}});
            const read = fetch(url + "?q=winch").then((answer) => answer.text(), () => "refused");
            const frame = document.getElementById("f");
            const framed = new Promise((resolve) => { frame.onload = () => {
                let text; try { text = frame.contentDocument.body.textContent; } catch { text = "closed"; } resolve(text ?? "closed"); }; frame.src = url; });
            Promise.allSettled([post, read, framed]).then((all) => done(all.map((one) => one.value?.type ?? one.value ?? "failed")));
            """, page.url, f"tenant={site.tenant}&as=public&q=ferry&key=ferry.md&grade=3",
        )  # fmt: skip
        assert told[1] == "refused" and "winch" not in str(told) and judged(site) == []
        driver.get_log("browser")  # where it says that all this was refused

    def test_a_name_that_points_here(self, driver: Any, page: Page) -> None:
        driver.get(f"http://rebound.example:{page.port}/{page.token}/?q=winch")
        assert "under the name of the loopback alone" in driver.page_source and "Fused" not in driver.page_source
        driver.get_log("browser")
