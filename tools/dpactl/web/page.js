/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* page.js - asks for a reading four times a second and shows it: curves, map, tables, a QP. */
"use strict";

const PERIOD = 250, KEPT = 1200; /* ms; readings: five minutes */
const $ = id => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
let session = null, last = null, chosen = 0, sort = {key: "load", up: false};

const number = n => {
  const unit = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; n >= 999.5 && i < unit.length - 1; i++) n /= 1000;
  return (i ? n.toPrecision(3) : String(Math.round(n))) + unit[i];
};
const hex = n => n.toString(16).padStart(6, "0");

/* ---------------------------------------------------------------------- curves */

/* Curves over the last minutes. Of each two values per reading; null: not measured. */
class Chart {
  constructor(where, title, names) {
    this.where = where;
    this.data = [[], ...names.map(() => [])];
    this.title = title;
    this.names = names;
    this.make();
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(where);
    dark.addEventListener("change", () => this.make());
  }
  size() { return {width: Math.max(this.where.clientWidth, 200), height: 150}; }
  make() {
    const axis = {stroke: colour("--dim"), grid: {stroke: colour("--line"), width: 1}, ticks: {show: false}, font: "11px system-ui"};
    if (this.plot) this.plot.destroy();
    this.plot = new uPlot({
      ...this.size(), title: this.title, cursor: {drag: {x: false, y: false}}, legend: {live: false},
      axes: [{...axis}, {...axis, size: 48, values: (u, all) => all.map(number)}],
      scales: {y: {range: (u, min, max) => [0, Math.max(max, 10) * 1.05]}},
      series: [{}, ...this.names.map((label, i) => ({label, stroke: colour(i ? "--b" : "--a"), width: 1.5, points: {show: false}}))],
    }, this.data, this.where);
  }
  add(at, values) {
    this.data[0].push(at);
    values.forEach((v, i) => this.data[i + 1].push(v));
    if (this.data[0].length > KEPT) for (const d of this.data) d.shift();
    this.plot.setData(this.data);
  }
  clear() { for (const d of this.data) d.length = 0; }
}

/* ---------------------------------------------------------------------- tables */

const cell = (text, kind) => {
  const e = document.createElement("td");
  e.textContent = text;
  if (kind) e.className = kind;
  return e;
};
const named = pid => {
  const p = last.processes.find(x => x.pid === pid);
  return p ? `${p.command} ${pid}` : String(pid);
};
const rate = (q, key) => q.rate ? number(q.rate[key]) : "-";
const peerOf = q => {
  const pid = last.owners.get(q.dest_qpn);
  return !q.dest_qpn ? "-" : `${hex(q.dest_qpn)} at ${pid ? named(pid) : q.dest_gid}`;
};

function cellsOf(q) {
  return [cell(hex(q.qpn), "t"), cell(named(q.pid), "t"), cell(`${q.type} ${q.state}`, "t"),
    ...["tx_msgs", "rx_msgs", "tx_bytes", "rx_bytes", "again", "rnr"].map(k => cell(rate(q, k))),
    cell(q.last_error ? `${q.wait}, error` : q.wait, q.last_error ? "t error" : "t"), cell(q.link, "t"), cell(peerOf(q), "t")];
}

const keyOf = q => {
  switch (sort.key) {
  case "load": return load(q);
  case "program": return named(q.pid);
  case "qpn": case "state": case "wait": case "link": return q[sort.key];
  default: return q.rate ? q.rate[sort.key] : -1;
  }
};

/* Rows stay where they are and change their cells: a row under the pointer can be clicked. */
function drawQps() {
  const want = $("filter").value.toLowerCase(), body = $("qps").tBodies[0];
  const all = last.qps.map(q => ({q, key: keyOf(q)})).sort((a, b) => (a.key < b.key ? 1 : a.key > b.key ? -1 : a.q.qpn - b.q.qpn) * (sort.up ? -1 : 1));
  const rows = [];
  for (const {q} of all) {
    const cells = cellsOf(q);
    if (want && !cells.some(c => c.textContent.toLowerCase().includes(want))) continue;
    if (rows.length === 100) break;
    const tr = body.rows[rows.length] || body.insertRow();
    tr.replaceChildren(...cells);
    tr.dataset.qpn = q.qpn;
    tr.tabIndex = 0;
    tr.className = q.qpn === chosen ? "on" : "";
    rows.push(tr);
  }
  while (body.rows.length > rows.length) body.deleteRow(-1);
  $("more").textContent = last.num_qps > rows.length ? `${rows.length} of ${last.num_qps} QPs` : "";
}

function drawEus() {
  const body = $("eus").tBodies[0];
  const own = last.processes.map(p => [cell("-"), cell(named(p.pid)), cell("progress"), cell(p.busy_permille / 10 + " %"), cell(p.thread), cell(p.qps), cell("-"), cell("", "t")]);
  const eus = last.eus.map(e => [cell(e.eu), cell(named(e.pid)), cell(e.dpa ? "DPA" : "QPs"), cell(e.busy_permille / 10 + " %"),
    cell(e.asleep ? "SLEEPS" : "RUNS"), cell(e.dpa ? "-" : e.qps), cell(e.dpa ? number(e.activations) : "-"), cell(e.runs || "", "t")]);
  body.replaceChildren(...[...own, ...eus].slice(0, 64).map(cells => {
    const tr = document.createElement("tr");
    tr.replaceChildren(...cells);
    return tr;
  }));
}

/* ----------------------------------------------------------------------- a QP */

function factsOf(q) {
  const facts = [["process", named(q.pid)], ["type", `${q.type}, ${q.state}, placement ${q.placement}`],
    ["peer", `${peerOf(q)}, by ${q.link}`], ["UAR", `page ${q.uar_page}, slot ${q.uar_slot}: ${q.doorbells} doorbells, ${q.blueflames} BlueFlame writes`]];
  if (q.send_psn === undefined) return [...facts, ["figures", "none: not measured yet, or a target of XRC"]];
  return [...facts, ["waits for", `${q.wait}; ${q.queued} blocks of the send queue in use`],
    ["PSNs", `next ${q.send_psn}, oldest not acknowledged ${q.una_psn} (${q.send_psn - q.una_psn & 0xffffff} in flight), expected ${q.epsn}`],
    ["window", q.window === null ? "none: the link loses nothing" : `${number(q.window)}B of congestion control`],
    ["again", `${q.again} PSNs sent again, ${q.rnr} RNR NAKs`], ["last error", q.last_error || "none"]];
}

function drawOne() {
  const q = last.qps.find(x => x.qpn === chosen);
  $("one").hidden = !chosen;
  if (!chosen) return;
  $("name").textContent = q ? `QP ${hex(q.qpn)} of ${named(q.pid)}` : `QP ${hex(chosen)} is gone, or is not one of the busiest`;
  if (!q) return;
  $("facts").replaceChildren(...factsOf(q).flatMap(([name, text]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = text;
    return [dt, dd];
  }));
  one.add(Date.now() / 1000, q.rate ? [q.rate.tx_msgs, q.rate.rx_msgs] : [null, null]);
}

function choose(qpn) {
  if (qpn !== chosen) one.clear();
  chosen = qpn;
  $("one").hidden = !chosen;
  if (last) drawOne(), drawQps();
}

/* ------------------------------------------------------------------------ all */

const charts = [new Chart($("messages"), "messages per second", ["out", "in"]),
  new Chart($("bytes"), "bytes per second", ["out", "in"]), new Chart($("repeats"), "sent again, RNR NAKs per second", ["again", "RNR"])];
const one = new Chart($("rates"), "messages per second", ["out", "in"]);
SlotMap.canvas = $("map");
LinkMap.svg = $("links");

function say(text, bad) {
  $("about").textContent = text;
  $("about").className = bad ? "bad" : "";
}

function show(d) {
  const at = Date.now() / 1000, r = d.rate;
  d.owners = ownersOf(d);
  last = d;
  say(d.why ? `no adapter instance: ${d.why}` : `board ${d.board}: ${d.processes.length} processes, ${d.num_qps} QPs, ${d.eus.length} EUs`, d.why);
  charts[0].add(at, [r.tx_msgs, r.rx_msgs]);
  charts[1].add(at, [r.tx_bytes, r.rx_bytes]);
  charts[2].add(at, [r.again, r.rnr]);
  $("most").textContent = d.rest.length ? `of the ${d.qps.length} busiest of ${d.num_qps} QPs` : "";
  SlotMap.draw(d, dark.matches);
  LinkMap.draw(d, number);
  drawEus();
  drawQps();
  drawOne();
}

/* The token behind # is good once; the session it begins is that of all pages of this browser. */
async function begin() {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  session = localStorage.getItem("session");
  if (!token) return;
  const r = await fetch("session", {method: "POST", headers: {Authorization: `Token ${token}`}});
  if (!r.ok) return;
  session = await r.text();
  localStorage.setItem("session", session);
}

async function ask() {
  const r = await fetch("data", {headers: {Authorization: `Bearer ${session}`}});
  if (r.status === 403) throw new Error("this page is not of the session: start dpactl web again and open the address that it prints");
  if (!r.ok) throw new Error(`status ${r.status}`);
  return r.json();
}

/* A hidden page asks for nothing, so that no process measures for it. */
async function run() {
  try {
    await begin();
  } catch (e) {
    say(`dpactl web does not answer: ${e.message}`, true);
  }
  for (;;) {
    const from = performance.now();
    if (!document.hidden)
      try {
        show(await ask());
      } catch (e) {
        say(e.message, true);
        if (e.message.startsWith("this page")) return;
      }
    await new Promise(done => setTimeout(done, Math.max(PERIOD - (performance.now() - from), 20)));
  }
}

$("qps").tBodies[0].addEventListener("click", e => e.target.closest("tr") && choose(+e.target.closest("tr").dataset.qpn));
$("qps").tBodies[0].addEventListener("keydown", e => e.key === "Enter" && choose(+e.target.closest("tr").dataset.qpn));
$("qps").tHead.addEventListener("click", e => {
  const key = e.target.dataset.key;
  if (!key) return;
  sort = {key, up: sort.key === key ? !sort.up : false};
  if (last) drawQps();
});
$("filter").addEventListener("input", () => last && drawQps());
$("close").addEventListener("click", () => choose(0));
$("map").addEventListener("click", e => {
  const q = SlotMap.find(e.offsetX, e.offsetY);
  if (q) choose(q.qpn);
});
$("map").addEventListener("mousemove", e => {
  const q = SlotMap.find(e.offsetX, e.offsetY);
  $("slot").textContent = q && last ? `page ${q.uar_page}, slot ${q.uar_slot}: QP ${hex(q.qpn)} of ${named(q.pid)}` : "";
});
run();
