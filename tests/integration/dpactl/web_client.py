#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Clients of dpactl web: web_client.py WEB SERVER CLIENT [SESSION QPS], process ids; its address and token are in URL and TOKEN."""
import collections
import http.client
import json
import os
import signal
import socket
import sys

WEB, SERVER, CLIENT = map(int, sys.argv[1:4])
HOST = os.environ["URL"].split("/")[2]
TOKEN = os.environ["TOKEN"]


class Client:
    def __init__(self):
        self.c = http.client.HTTPConnection(HOST, timeout=60)

    def ask(self, path, secret=None, method="GET", **headers):
        """Status and body."""
        if secret:
            headers["Authorization"] = secret
        self.c.request(method, path, headers=headers)
        r = self.c.getresponse()
        self.headers = r.headers
        return r.status, r.read().decode()

    def reading(self, session):
        status, body = self.ask("/data", "Bearer " + session)
        assert status == 200, (status, body)
        return json.loads(body)


def descriptors():
    return len(os.listdir(f"/proc/{WEB}/fd"))


def refusals():
    c = Client()
    for secret in None, "", "Bearer", "Bearer ", "Bearer " + "0" * 32, "Bearer " + TOKEN, "Token " + TOKEN:
        assert c.ask("/data", secret)[0] == 403, secret
    for secret in None, "Token ", "Token " + "0" * 32, "Token " + TOKEN + "0", "Bearer " + TOKEN, TOKEN:
        assert c.ask("/session", secret, "POST")[0] == 403, secret
    assert c.ask("/session", "Token " + TOKEN)[0] == 404, "a session begins by POST"
    status, session = c.ask("/session", "Token " + TOKEN, "POST")
    assert status == 200 and len(session) == 32 and session != TOKEN, (status, session)
    assert c.ask("/session", "Token " + TOKEN, "POST")[0] == 403, "the token is good once"
    assert c.ask("/data", "Bearer " + TOKEN)[0] == 403
    assert c.ask("/data", "Bearer " + session[:-1])[0] == 403
    for host in "evil.example", "evil.example:" + HOST.split(":")[1], "127.0.0.1", "127.0.0.1:1", "localhost:" + HOST.split(":")[1]:
        assert c.ask("/data", "Bearer " + session, Host=host)[0] == 403, host
        assert c.ask("/", Host=host)[0] == 403, host
    for method in "POST", "PUT", "DELETE", "PATCH", "OPTIONS":
        assert c.ask("/data", "Bearer " + session, method)[0] == 405, method
    for path in "/nothing", "/..", "/../web.c", "/data/", "//":
        assert c.ask(path, "Bearer " + session)[0] == 404, path
    c.c.request("POST", "/data", body=b"x" * 1000000, headers={"Authorization": "Bearer " + session})
    assert c.c.getresponse().read() == b"read only\n"
    return session


def page():
    c = Client()
    for path, kind in ("/", "text/html"), ("/page.js", "text/javascript"), ("/map.js", "text/javascript"), (
            "/page.css", "text/css"), ("/uPlot.js", "text/javascript"), ("/uPlot.css", "text/css"):
        status, body = c.ask(path)
        assert status == 200 and c.headers["Content-Type"].startswith(kind), (path, status)
        assert "default-src 'none'" in c.headers["Content-Security-Policy"] and c.headers["X-Frame-Options"] == "DENY"
        assert "Access-Control-Allow-Origin" not in c.headers
        assert path.startswith("/uPlot") or "://" not in body.replace("http://www.w3.org/2000/svg", ""), path


def data(session):
    """Until both programs have rates; then of each QP the bytes are those of its messages."""
    c = Client()
    while True:
        d = c.reading(session)
        of = {p["pid"]: p for p in d["processes"]}
        if SERVER in of and CLIENT in of and of[CLIENT]["rate"] and of[CLIENT]["rate"]["tx_msgs"] > 0:
            break
    assert d["num_qps"] == len(d["qps"]) == 4, d
    assert all(q["tx_bytes"] == 2000 * q["tx_msgs"] for q in d["qps"]), d
    assert {q["dest_qpn"] for q in d["qps"]} == {q["qpn"] for q in d["qps"]}, "each one's peer is one of them"


def many(session):
    """More QPs than a reading has figures of: the others have their slots, all together each one once."""
    c = Client()
    while True:
        d = c.reading(session)
        if d["num_qps"] == MANY:
            break
    rest = list(zip(d["rest"][::3], d["rest"][1::3], d["rest"][2::3]))
    assert len(d["rest"]) == 3 * len(rest) and len(d["qps"]) == 512 and len(rest) == MANY - 512, (len(d["qps"]), len(d["rest"]))
    slots = [q["uar_page"] * 16 + q["uar_slot"] for q in d["qps"]] + [slot for slot, _, _ in rest]
    assert len(set(slots)) == MANY and all(0 <= s < 16 * d["uar_pages"] for s in slots)
    qps = collections.Counter([q["pid"] for q in d["qps"]] + [pid for _, pid, _ in rest])
    assert qps == {p["pid"]: p["qps"] for p in d["processes"] if p["qps"]}, qps
    assert len({q["qpn"] for q in d["qps"]} | {qpn for _, _, qpn in rest}) == MANY


def ten(session):
    """Ten clients, of which some go away in the middle of an answer."""
    before = descriptors()
    for _ in range(3):
        clients = [Client() for _ in range(10)]
        for c in clients:
            c.reading(session)
        s = socket.create_connection(HOST.split(":"))
        s.sendall(f"GET /uPlot.js HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        s.recv(100)
        s.close()  # with most of it unread
        s = socket.create_connection(HOST.split(":"))
        s.sendall(b"GET /data HT")
        s.close()
        clients.pop().c.close()
        for c in clients:
            c.reading(session)
            c.c.close()
    while descriptors() > before:
        pass


signal.alarm(110)
if len(sys.argv) > 4:  # the session that an earlier call began, and the number of QPs
    MANY = int(sys.argv[5])
    many(sys.argv[4])
    sys.exit()
page()
SESSION = refusals()
data(SESSION)
ten(SESSION)
print(SESSION)
