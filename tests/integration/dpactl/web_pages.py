#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The page of dpactl web in a browser: web_pages.py BROWSER PROFILE URL PID [SHOT.png]

Opens it at 800 and 1600 pixels, dark and light, and ten times at once, of which one is closed in the middle. PID is that of
dpactl web. Nothing may be on the console, or be wider than the window; the data of running programs arrives."""
import base64
import json
import os
import select
import subprocess
import sys

BROWSER, PROFILE, URL, PID = sys.argv[1:5]
LIMIT = 60  # s for an answer of the browser: the test has failed


class Browser:
    """The browser's debugging protocol: objects of JSON that end by a 0, through two pipes."""

    def __init__(self):
        to, self.out = os.pipe()
        self.into, back = os.pipe()
        inner = f'exec 3<&{to} 4>&{back}; exec "$@"'
        self.run = subprocess.Popen(
            ["bash", "-c", inner, "-", BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={PROFILE}", "about:blank"],
            pass_fds=(to, back), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.rest, self.last, self.console, self.answers = b"", 0, [], {}

    def read(self):
        if not select.select([self.into], [], [], LIMIT)[0]:
            sys.exit("the browser does not answer")
        new = os.read(self.into, 1 << 20)
        if not new:
            sys.exit("the browser has ended")
        *whole, self.rest = (self.rest + new).split(b"\0")
        for m in map(json.loads, whole):
            if "id" in m:
                self.answers[m["id"]] = m
            elif m["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled") or (
                    m["method"] == "Log.entryAdded" and m["params"]["entry"]["level"] in ("error", "warning")):
                self.console.append(m["params"])

    def call(self, method, session=None, **params):
        self.last += 1
        m = {"id": self.last, "method": method, "params": params}
        if session:
            m["sessionId"] = session
        os.write(self.out, json.dumps(m).encode() + b"\0")
        while self.last not in self.answers:
            self.read()
        answer = self.answers.pop(self.last)
        if "error" in answer:
            sys.exit(f"{method}: {answer['error']}")
        return answer["result"]

    def end(self):
        self.call("Browser.close")
        self.run.wait()


class Page:
    def __init__(self, browser, url, width=800, scheme="light", height=900):
        self.b = browser
        self.target = browser.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in "Runtime", "Log", "Page":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)

    def call(self, method, **params):
        return self.b.call(method, self.session, **params)

    def value(self, script):
        r = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            sys.exit(f"{script}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def until(self, script):
        """Waits in the page until that is true. The alarm ends what never is."""
        self.value("new Promise(done => { const look = () => { let ok = false; try { ok = " + script +
                   " } catch (e) {} ok ? done(1) : setTimeout(look, 20) }; look() })")

    def close(self):
        self.b.call("Target.closeTarget", targetId=self.target)


FITS = """(() => { const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') && e.getBoundingClientRect().right > innerWidth + 1);
return {page: document.documentElement.scrollWidth <= innerWidth, wide: wide.length, ground: getComputedStyle(document.body).backgroundColor} })()"""
COLOURS = """(() => { const c = document.getElementById('map'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
return new Set(new Uint32Array(d.buffer)).size })()"""
# All QPs but one without figures: the map still has their slots, and the one knows its peer's process.
REST = """(() => { const [one, ...others] = last.qps.filter(q => q.type !== "XRC_RECV");
const d = {...last, qps: [one], rest: others.flatMap(q => [q.uar_page * 16 + q.uar_slot, q.pid, q.qpn])}, before = last;
d.owners = ownersOf(d);
SlotMap.draw(d, dark.matches);
const drawn = [...SlotMap.slots.values()].map(q => q.qpn).sort(), all = last.qps.map(q => q.qpn).sort();
last = d;
const peer = peerOf(one);
last = before;
return drawn.join() === all.join() && others.length >= 3 && peer.includes(named(d.owners.get(one.dest_qpn))) })()"""
SENDS = "last && last.qps.some(q => q.rate && q.rate.tx_msgs > 0)"


def look(b, url, width, scheme, shot=None):
    p = Page(b, url, width, scheme)
    p.until(SENDS + " && charts[0].data[0].length > 5")
    fits = p.value(FITS)
    assert fits["page"] and not fits["wide"], (width, scheme, fits)
    light = sum(map(int, fits["ground"][4:-1].split(",")[:3])) > 3 * 128
    assert light == (scheme == "light"), fits
    assert p.value(COLOURS) > 2, "the map has no slot of a QP"
    assert p.value(REST), "a QP without figures has no slot in the map, or no process"
    assert p.value("document.querySelectorAll('#links path').length") >= 2, "no link is drawn"
    assert p.value("document.querySelectorAll('#eus tbody tr').length") >= 2
    p.value("document.querySelector('#qps tbody tr').click()")
    p.until("!document.getElementById('one').hidden && document.querySelectorAll('#facts dt').length > 8 && one.data[0].length > 3")
    fits = p.value(FITS)
    assert fits["page"] and not fits["wide"], (width, scheme, fits)
    p.value("document.getElementById('close').click()")
    assert p.value("document.getElementById('one').hidden")
    p.value("document.getElementById('filter').value = 'no such'; document.getElementById('filter').dispatchEvent(new Event('input'))")
    p.until("document.querySelectorAll('#qps tbody tr').length === 0")
    p.value("document.getElementById('filter').value = ''; document.getElementById('filter').dispatchEvent(new Event('input'))")
    if shot:
        p.until("charts[0].data[0].length > 60")
        with open(shot, "wb") as f:
            f.write(base64.b64decode(p.call("Page.captureScreenshot", format="png")["data"]))
    # a click into the map chooses the QP of a slot
    p.value("""(() => { const q = last.qps.find(q => q.rate), [x, y] = SlotMap.at(q.uar_page, q.uar_slot);
const c = document.getElementById('map'), r = c.getBoundingClientRect();
c.dispatchEvent(new MouseEvent('click', {clientX: r.left + x + 1, clientY: r.top + y + 1, bubbles: true})) })()""")
    p.until("chosen !== 0")
    p.close()


def sockets():
    """Descriptors of dpactl web."""
    return len(os.listdir(f"/proc/{PID}/fd"))


def ten(b, url):
    before = sockets()
    pages = [Page(b, url) for _ in range(10)]
    for p in pages:
        p.until(SENDS)
    pages.pop(4).close()
    for p in pages:
        p.value("window.had = charts[0].data[0].length")
        p.until("charts[0].data[0].length > had + 3")
    for p in pages:
        p.close()
    return before


def main():
    b = Browser()
    plain = URL.split("#")[0]
    p = Page(b, URL)
    p.until(SENDS)  # the token is exchanged
    assert "#" not in p.value("location.href"), "the token stays in the address"
    p.close()
    for width in 800, 1600:
        for scheme in "light", "dark":
            look(b, plain, width, scheme)
    if len(sys.argv) > 5:
        look(b, plain, 1100, "light", sys.argv[5])
    assert not b.console, b.console
    before = ten(b, plain)
    assert not b.console, b.console
    # the token was used: another browser is refused, and says so
    other = Page(b, URL)
    other.value("localStorage.clear()")
    other.call("Page.navigate", url="about:blank")
    other.call("Page.navigate", url=URL)
    other.until("document.getElementById('about').className === 'bad'")
    b.end()
    while sockets() > before:  # the browser's connections end with it
        pass


import signal
signal.alarm(300)
main()
