/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* map.js - the UAR pages with their slots, and the processes with their links. */
"use strict";

const SLOT = 3, GAP = 2; /* pixels: of a slot, between two pages */
const hueOf = pid => pid * 137.5 % 360; /* neighbours differ */
const load = q => q.rate ? q.rate.tx_msgs + q.rate.rx_msgs : 0;
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* The slots of a page as a square of four by four; a line for each 16 slots. */
const SlotMap = {
  canvas: null, pages: 0, perRow: 1, slots: new Map(),
  side() { return 4 * SLOT + GAP; },
  /* The QPs of which a reading has no figures: three numbers for each. */
  *rest(d) {
    for (let i = 0; i < d.rest.length; i += 3)
      if (d.rest[i] >= 0) yield {uar_page: Math.floor(d.rest[i] / 16), uar_slot: d.rest[i] % 16, pid: d.rest[i + 1], qpn: d.rest[i + 2]};
  },
  /* Busy slots are strong, idle ones and those of the rest pale, free ones as the ground. */
  draw(d, dark) {
    const c = this.canvas, width = Math.max(c.clientWidth, 100), side = this.side(), ratio = devicePixelRatio || 1;
    this.pages = d.uar_pages;
    this.perRow = Math.floor(width / side);
    const rows = Math.ceil(this.pages / this.perRow), height = Math.max(rows * side, 1);
    if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
      c.width = Math.round(width * ratio);
      c.height = Math.round(height * ratio);
      c.style.height = height + "px";
    }
    const g = c.getContext("2d"), most = Math.max(1, ...d.qps.map(load));
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.fillStyle = colour("--free");
    for (let p = 0; p < this.pages; p++) {
      const [x, y] = this.at(p, 0);
      g.fillRect(x, y, 4 * SLOT, 4 * SLOT);
    }
    this.slots = new Map();
    for (const q of [...this.rest(d), ...d.qps]) {
      if (q.type === "XRC_RECV") continue;
      const [x, y] = this.at(q.uar_page, q.uar_slot), strong = load(q) / most;
      this.slots.set(q.uar_page * 16 + q.uar_slot, q);
      g.fillStyle = `hsl(${hueOf(q.pid)} ${30 + 60 * strong}% ${dark ? 35 + 30 * strong : 75 - 30 * strong}%)`;
      g.fillRect(x, y, SLOT, SLOT);
    }
  },
  at(page, slot) {
    const side = this.side();
    return [page % this.perRow * side + slot % 4 * SLOT, Math.floor(page / this.perRow) * side + Math.floor(slot / 4) * SLOT];
  },
  /* The QP of a slot near a point; undefined: none is within some pixels. */
  find(x, y) {
    let best, least = 8;
    for (const [key, q] of this.slots) {
      const [sx, sy] = this.at(Math.floor(key / 16), key % 16), far = Math.hypot(sx + SLOT / 2 - x, sy + SLOT / 2 - y);
      if (far < least) [best, least] = [q, far];
    }
    return best;
  },
};

const svgOf = (name, attributes, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
};

/* The process of each QPN. */
const ownersOf = d => {
  const owners = new Map(d.qps.map(q => [q.qpn, q.pid]));
  for (let i = 0; i < d.rest.length; i += 3) owners.set(d.rest[i + 2], d.rest[i + 1]);
  return owners;
};

/* A box for each process on the left; on the right once more as peers, and other hosts. */
const LinkMap = {
  svg: null,
  /* Sums of the QPs between two ends: key, from, to, bytes per second. */
  ends(d) {
    const owner = d.owners, links = new Map();
    for (const q of d.qps) {
      if (!q.dest_qpn) continue;
      const to = owner.has(q.dest_qpn) && q.link !== "rocev2" ? `p${owner.get(q.dest_qpn)}` : q.dest_gid;
      const key = `p${q.pid} ${to} ${q.link}`, l = links.get(key) || {from: q.pid, to, by: q.link, qps: 0, bytes: 0, msgs: 0};
      l.qps++;
      l.bytes += q.rate ? q.rate.tx_bytes : 0;
      l.msgs += q.rate ? q.rate.tx_msgs : 0;
      links.set(key, l);
    }
    return [...links.values()];
  },
  draw(d, number) {
    const ROW = 44, BOX = 190, width = Math.max(this.svg.clientWidth, 300), links = this.ends(d);
    const shown = d.processes.slice(0, 24), left = new Map(shown.map((p, i) => [p.pid, i]));
    links.sort((a, b) => left.get(a.from) - left.get(b.from)); /* most lines are straight then */
    const names = new Map(shown.map(p => [`p${p.pid}`, `${p.command} ${p.pid}`]));
    const right = [...new Set(links.map(l => l.to))].slice(0, 24);
    const rows = Math.max(shown.length, right.length, 1), items = [];
    const place = new Map(right.map((r, i) => [r, i]));
    const most = Math.max(1, ...links.map(l => l.bytes));
    for (const l of links) {
      if (!left.has(l.from) || !place.has(l.to)) continue;
      const y1 = left.get(l.from) * ROW + 18, y2 = place.get(l.to) * ROW + 18, x2 = width - BOX;
      items.push(svgOf("path", {class: l.msgs ? "link" : "link idle", "stroke-width": (1 + 5 * l.bytes / most).toFixed(1),
        d: `M${BOX} ${y1} C${(BOX + x2) / 2} ${y1} ${(BOX + x2) / 2} ${y2} ${x2} ${y2}`}));
      items.push(svgOf("text", {class: "dim", x: x2 - 6, y: y2 - 4, "text-anchor": "end"},
        `${l.qps} QP${l.qps > 1 ? "s" : ""} by ${l.by}${l.msgs ? `, ${number(l.bytes)}B/s` : ""}`));
    }
    const box = (x, y, title, note) => {
      items.push(svgOf("rect", {class: "box", x, y, width: BOX - 1, height: 36, rx: 3}),
        svgOf("text", {x: x + 6, y: y + 15}, title.length > 30 ? title.slice(0, 29) + "…" : title),
        svgOf("text", {class: "dim", x: x + 6, y: y + 29}, note));
    };
    shown.forEach((p, i) => box(0, i * ROW, names.get(`p${p.pid}`), `${p.thread}, ${p.qps} QPs, ${p.waiting} wait${p.errors ? `, ${p.errors} with errors` : ""}`));
    right.forEach((r, i) => box(width - BOX, i * ROW, names.get(r) || r, names.has(r) ? "peer" : r.startsWith("p") ? "peer" : "another adapter instance or host"));
    this.svg.setAttribute("height", rows * ROW);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${rows * ROW}`);
    this.svg.replaceChildren(...items);
  },
};
