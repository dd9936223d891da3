#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""timeline.py FILE [CHECK...]: a timeline is valid, and has what it should.

Always: each event has the members of the trace event format and no others, async
slices are paired and nested, arrows lead from an earlier to a later moment.
CHECK: names NAME... (events), whole OPCODE N (at least N WQEs of it have all stages from post to
poll), latency US (the stages and the program's own time add up to that, within 10 %), across (arrows
between two processes), pid N (a process), states STATE... (an id or a connection of rdma_cm
that goes through these one after the other; without those in parentheses if it is gone before),
runs KIND N (code of this kind ran, with ranks 0 to N - 1),
failures TEXT... (injected ones, each as "RULE number N"), print (prints these)."""
import collections
import json
import re
import statistics
import sys

# The trace event format: what an event of a phase must have, and may have. Values: a type, a tuple of
# types, or a set of allowed values.
NUM = (int, float)
COMMON = {"name": str, "pid": int, "tid": int, "ts": NUM}
PHASES = {
    "M": ({"args": dict}, {}), "X": ({"cat": str, "dur": NUM}, {"args": dict}), "B": ({"cat": str}, {"args": dict}),
    "E": ({}, {"cat": str}), "i": ({"cat": str, "s": {"t", "p", "g"}}, {"args": dict}),
    "b": ({"cat": str, "id": str}, {"args": dict}), "e": ({"cat": str, "id": str}, {}),
    "s": ({"cat": str, "id": int}, {}), "f": ({"cat": str, "id": int, "bp": {"e"}}, {}),
}
ABOUT = {"events": int, "lost": int, "skipped": int, "wqes": int, "stage_medians_ns": dict}


def fits(value, kind):
    if isinstance(kind, set):
        return value in kind
    return isinstance(value, kind) and not isinstance(value, bool) and value != "" and \
        (not isinstance(value, NUM) or value >= 0)


def validate(trace):
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}, set(trace)
    assert trace["displayTimeUnit"] in ("ns", "ms")
    assert all(fits(trace["otherData"].get(k), v) for k, v in ABOUT.items()), trace["otherData"]
    for e in trace["traceEvents"]:
        assert e.get("ph") in PHASES, e
        must, may = PHASES[e["ph"]]
        must = dict(COMMON, **must)
        assert set(must) <= set(e) - {"ph"} <= set(must) | set(may), e
        assert all(fits(v, {**must, **may}[k]) for k, v in e.items() if k != "ph"), e


TO_PEER = ["write WQE", "pick up", "send", "link", "place", "receive CQE", "poll receive"]
BACK = ["acknowledge", "CQE", "poll"]


def slices(events):
    """{id of a WQE: {stage: (from, to)}}; the WQE itself is the stage ''."""
    found = collections.defaultdict(dict)
    for e in events:
        if e["ph"] not in "be" or e["cat"] != "wqe":
            continue
        name = "" if e["name"] in OPCODES else e["name"]
        if e["ph"] == "b":
            assert name not in found[e["id"]], f"{e['id']}: {e['name']} begins twice"
            found[e["id"]][name] = [e["ts"], None, e]
        else:
            s = found[e["id"]].get(name)
            assert s and s[1] is None, f"{e['id']}: {e['name']} ends without a begin"
            s[1] = e["ts"]
            assert s[1] >= s[0], f"{e['id']}: {e['name']} ends before it begins"
    for wqe, stages in found.items():
        assert "" in stages and all(s[1] is not None for s in stages.values()), f"{wqe}: {stages}"
        whole = stages[""]
        assert all(whole[0] <= s[0] and s[1] <= whole[1] for s in stages.values()), f"{wqe}: {stages}"
    return found


def spans(events):
    """{id: slices of states, or one of an EU}: each ends before the next one of its id begins."""
    open_, ended = {}, collections.defaultdict(list)
    for e in events:
        if e["ph"] == "b" and e["cat"] != "wqe":
            assert e["id"] not in open_, f"{e['id']}: {e['name']} begins within {open_[e['id']]}"
            open_[e["id"]] = e
        elif e["ph"] == "e" and e["cat"] != "wqe":
            b = open_.pop(e["id"])
            assert (b["name"], b["pid"], b["tid"]) == (e["name"], e["pid"], e["tid"]) and b["ts"] <= e["ts"], (b, e)
            ended[e["id"]].append(b)
    assert not open_, f"without an end: {open_}"
    return ended


def arrows(events):
    starts, pairs = {}, []
    for e in events:
        if e["ph"] == "s":
            starts[e["id"]] = e
        elif e["ph"] == "f":
            pairs.append((starts.pop(e["id"]), e))
    assert not starts, f"{len(starts)} arrows without an end"
    late = [(a, b) for a, b in pairs if a["ts"] > b["ts"]]
    assert not late, f"{len(late)} arrows go back in time, as {late[0]}"
    return pairs


def failures(events):
    """"RULE number N" of each, in their order, with " early" if it was before the device was open."""
    found = sorted((e for e in events if e["name"] == "injected failure"), key=lambda e: e["ts"])
    return [f"{e['args']['rule']} number {e['args']['number']}" + " early" * ("when" in e["args"]) for e in found]


def latency(wqes, want):
    """The way of each message to its peer's program, then what that program does until it posts."""
    way = sorted((w["write WQE"][0], sum(w[s][1] - w[s][0] for s in TO_PEER), w["poll receive"][1], w[""][2]["pid"])
                 for w in wqes.values() if all(s in w for s in TO_PEER))
    rounds = []
    for (at, a, end, pid), (at2, b, end2, pid2), nxt in zip(way, way[1:], way[2:]):
        if pid != pid2 and nxt[3] == pid:
            rounds.append((a + at2 - end + b + nxt[0] - end2) / 2)
    assert len(rounds) > 100, f"{len(rounds)} round trips in {len(way)} messages"
    got = statistics.median(rounds)
    print(f"stages and programs {got:.3f} us, measured {want:.3f} us, {len(rounds)} round trips")
    assert abs(got - want) <= want / 10, "more than 10 % apart"


def main():
    global OPCODES
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    if sys.argv[1].endswith(".html"):
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    trace = json.loads(text)
    validate(trace)
    events, about = trace["traceEvents"], trace["otherData"]
    OPCODES = set(about["stage_medians_ns"]) | {e["name"] for e in events if e["ph"] == "b" and "args" in e and e["cat"] == "wqe"}
    wqes, pairs = slices(events), arrows(events)
    rest = spans(events)
    names = {e["name"] for e in events}
    check = sys.argv[2:]
    while check:
        what = check.pop(0)
        if what == "names":
            missing = set(check) - names
            assert not missing, f"no {missing} in {sorted(names)}"
            break
        if what == "whole":
            opcode, least = check.pop(0), int(check.pop(0))
            stages = (TO_PEER if "SEND" in opcode else TO_PEER[:5]) + BACK
            n = sum(w[""][2]["name"] == opcode and all(s in w for s in stages) for w in wqes.values())
            assert n >= least, f"{n} of {len(wqes)} WQEs are whole; stages {about['stage_medians_ns']}"
        elif what == "latency":
            latency(wqes, float(check.pop(0)))
        elif what == "across":
            assert any(a["pid"] != b["pid"] for a, b in pairs), "no arrow between two processes"
        elif what == "states":
            ways = [[s["name"] for s in slices_] for slices_ in rest.values() if slices_[0]["cat"] == "cm"]
            whole = [s.strip("()") for s in check]
            least = [s for s in check if not s.startswith("(")]
            assert whole in ways or least in ways, f"{check} is none of {ways}"
            break
        elif what == "failures":
            got = failures(events)
            assert set(check) <= set(got), f"{check} not all among {got}"
            break
        elif what == "print":
            print("\n".join(failures(events)))
        elif what == "runs":
            kind, n = check.pop(0), int(check.pop(0))
            ranks = {s["args"]["rank"] for r in rest.values() for s in r if s["name"] == kind}
            assert ranks == set(range(n)), f"{kind} of ranks {ranks}"
        elif what == "pid":
            pid = int(check.pop(0))
            assert {e["pid"] for e in events} == {pid}, f"not only {pid}"
        else:
            sys.exit(__doc__)


main()
