"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const metrics = data.metrics;
  const metricOf = new Map(metrics.map((metric) => [metric.id, metric]));
  const PAGE = 50;
  const TINY = 1e-9;
  const $ = (id) => document.getElementById(id);
  const list = $("list"), more = $("more"), count = $("count"), form = $("filters");
  const fields = { text: $("f-text"), metric: $("f-metric"), show: $("f-show"), cause: $("f-cause"), tag: $("f-tag"), sort: $("f-sort") };

  // Everything foreign goes through here, as text or as an attribute that runs nothing.
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "class") node.className = value;
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") node.append(child);
    return node;
  }

  // ---- numbers in words -------------------------------------------------------------------------------------------
  const minus = (text) => text.replace("-", "\u2212");
  function value(number, unit) {
    if (number === null || number === undefined) return "unknown";
    if (unit === "fraction") return minus((100 * number).toFixed(1)) + " %";
    return unit === "s" ? minus(number.toFixed(2)) + " s" : "$" + number.toFixed(4);
  }
  function change(number, unit) {
    const scaled = unit === "fraction" ? 100 * number : number;
    const digits = unit === "usd" ? 4 : unit === "s" ? 2 : 1;
    return (scaled > 0 ? "+" : "") + minus(scaled.toFixed(digits));
  }
  // Positive is better, whatever the metric counts; null where one side is not known.
  function gain(sample, id) {
    const score = sample.scores[id];
    if (!score || score.value === null || score.value === undefined || score.before === undefined) return null;
    const metric = metricOf.get(id);
    return (score.value - score.before) * (metric && !metric.higher ? -1 : 1);
  }
  const unitOf = (id) => (metricOf.get(id) || { unit: "fraction" }).unit;

  // ---- filter and sort --------------------------------------------------------------------------------------------
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").replace(/đ/gi, "d").toLowerCase();
  const haystacks = new WeakMap();
  function haystack(sample) {
    let text = haystacks.get(sample);
    if (text === undefined) {
      const parts = [sample.id, sample.question, sample.answer, sample.answer_was, ...sample.tags];
      for (const score of Object.values(sample.scores)) parts.push(score.reason, ...(score.claims || []).map((claim) => claim[0]));
      for (const score of Object.values(sample.was || {})) parts.push(...(score.claims || []).map((claim) => claim[0]));
      text = plain(parts.filter(Boolean).join("\n"));
      haystacks.set(sample, text);
    }
    return text;
  }
  const tests = {
    regressed: (sample, id) => id in sample.fell,
    fell: (sample, id) => { const by = gain(sample, id); return by !== null && by < -TINY; },
    same: (sample, id) => { const by = gain(sample, id); return by !== null && Math.abs(by) <= TINY; },
    rose: (sample, id) => { const by = gain(sample, id); return by !== null && by > TINY; },
    low: (sample, id) => sample.scores[id].passed === false,
    unscored: (sample, id) => sample.scores[id].status !== "scored",
  };
  function asked(sample, wanted) {
    const ids = Object.keys(sample.scores);
    return wanted.metric ? ids.filter((id) => id === wanted.metric) : ids;
  }
  function matches(sample, wanted) {
    if (wanted.tag && !sample.tags.includes(wanted.tag)) return false;
    const ids = asked(sample, wanted);
    if (wanted.metric && ids.length === 0) return false;
    if (wanted.cause && !ids.some((id) => sample.fell[id] && sample.fell[id][0] === wanted.cause)) return false;
    if (wanted.show && !ids.some((id) => tests[wanted.show](sample, id))) return false;
    return wanted.words.every((word) => haystack(sample).includes(word));
  }
  const least = (numbers, none) => numbers.reduce((low, number) => (number === null || number === undefined ? low : Math.min(low, number)), none);
  const keys = {
    change: (sample, wanted) => least(asked(sample, wanted).map((id) => gain(sample, id)), Infinity),
    low: (sample, wanted) => least(asked(sample, wanted).filter((id) => wanted.metric || unitOf(id) === "fraction").map((id) => sample.scores[id].value), Infinity),
    high: (sample, wanted) => least(asked(sample, wanted).map((id) => { const found = sample.scores[id].value; return found === null || found === undefined ? null : -found; }), Infinity),
    line: (sample, _wanted, place) => sample.line || place,
  };
  function chosen(wanted) {
    const found = data.samples.map((sample, place) => [sample, place]).filter(([sample]) => matches(sample, wanted));
    if (wanted.sort === "id") return found.map(([sample]) => sample).sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
    const keyed = found.map(([sample, place]) => [keys[wanted.sort](sample, wanted, place), place, sample]);
    // On equal keys a listed sample comes first, then the data set's order.
    const listed = (sample) => (Object.keys(sample.fell).length ? 0 : 1);
    keyed.sort((a, b) => (a[0] === b[0] ? listed(a[2]) - listed(b[2]) || a[1] - b[1] : a[0] < b[0] ? -1 : 1));
    return keyed.map((row) => row[2]);
  }

  // ---- one sample -------------------------------------------------------------------------------------------------
  let serial = 0;
  function chips(sample, wanted) {
    const all = Object.keys(sample.scores);
    const first = all.filter((id) => id === wanted.metric || id in sample.fell);
    const rest = all.filter((id) => !first.includes(id));
    const shown = [...first, ...rest].slice(0, Math.max(4, first.length));
    const nodes = shown.map((id) => {
      const score = sample.scores[id], by = gain(sample, id), unit = unitOf(id);
      if (score.status !== "scored") return el("span", { class: score.status === "failed" ? "chip unscored" : "chip" }, `${id} ${score.status === "failed" ? "not scored" : "not applicable"}`);
      const moved = by !== null && Math.abs(by) > TINY;
      const told = moved ? ` ${by < 0 ? "▼" : "▲"} ${change(score.value - score.before, unit)}` : "";
      return el("span", { class: "chip" + (moved ? (by < 0 ? " worse" : " better") : "") + (id in sample.fell ? " listed" : "") }, `${id} ${value(score.value, unit)}${told}`);
    });
    if (shown.length < all.length) nodes.push(el("span", { class: "chip" }, `+${all.length - shown.length} more`));
    return el("span", { class: "chips" }, nodes);
  }
  function card(sample, wanted) {
    const name = `sample-${++serial}`;
    const causes = [...new Set(Object.values(sample.fell).map((fell) => fell[0]))];
    const head = el("button", { type: "button", class: "head", "aria-expanded": "false", "aria-controls": name },
      el("span", { class: "id" }, el("span", {}, sample.id), sample.line ? el("span", {}, `line ${sample.line}`) : "",
        causes.map((cause) => el("span", { class: `cause ${cause}` }, cause)), sample.tags.map((tag) => el("span", {}, `#${tag}`))),
      el("span", { class: "question", dir: "auto" }, sample.question || "(texts are not stored)"),
      chips(sample, wanted));
    const item = el("li", { class: "sample" + (causes.length ? " fell" : "") }, el("h3", {}, head), el("div", { id: name, role: "region", "aria-label": `Sample ${sample.id}`, hidden: true }));
    head.addEventListener("click", () => toggle(item, head, sample));
    item.sample = sample;
    return item;
  }
  function toggle(item, head, sample, open = head.getAttribute("aria-expanded") !== "true") {
    const room = item.lastElementChild;
    if (open && !room.firstChild) room.append(detail(sample, room.id));
    head.setAttribute("aria-expanded", String(open));
    room.hidden = !open;
    remember(open ? sample.id : "");
  }
  function detail(sample, name) {
    const was = sample.was || {};
    const before = sample.answer_was !== undefined || Object.keys(was).length > 0;
    const same = before && sample.answer_was === sample.answer && JSON.stringify(sample.passages_was) === JSON.stringify(sample.passages);
    const parts = [];
    if (sample.history) parts.push(block("Earlier turns", sample.history.map(([role, text]) => el("p", { class: "text", dir: "auto" }, el("b", {}, `${role}: `), text))));
    parts.push(scoreTable(sample, before));
    const passages = passageSides(sample, name);
    if (sample.answer !== undefined || before) {
      const sides = [];
      if (before) sides.push(side("Baseline", sample.answer_was, was, name + "-was", passages.was));
      sides.push(side(before ? "This run" + (same ? " (same answer, same passages)" : "") : "Answer", sample.answer, sample.scores, name + "-now", passages.now));
      parts.push(el("div", { class: before ? "sides" : "" }, sides));
    }
    if (sample.reference) parts.push(block("Reference", sample.reference.map((text) => el("p", { class: "text", dir: "auto" }, text))));
    if (sample.answer === undefined && !sample.passages) parts.push(el("p", {}, "The texts of this sample are not on this page."));
    return el("div", { class: "detail" }, parts);
  }
  const block = (title, children) => el("div", {}, el("h4", { class: "title" }, title), children);
  function scoreTable(sample, before) {
    const rows = Object.entries(sample.scores).map(([id, score]) => {
      const unit = unitOf(id), fell = sample.fell[id];
      const now = score.status === "scored" ? value(score.value, unit) : score.status === "failed" ? "not scored" : "not applicable";
      const flags = [...(score.flags || [])];
      if (fell) flags.unshift(`fell: ${fell[0]}${fell[1] ? "" : ", not confirmed"}`);
      return el("tr", {}, el("th", { scope: "row" }, id), before ? el("td", { class: "v" }, value(score.before, unit)) : "",
        el("td", { class: "v" }, before ? "→ " : "", el("b", {}, now)),
        el("td", { class: "why", dir: "auto" }, flags.map((flag) => el("span", { class: "flag" }, flag)), flags.length ? " " : "", score.reason || ""));
    });
    const titles = ["metric", ...(before ? ["before"] : []), "now", "why"].map((title) => el("th", { scope: "col" }, title));
    return el("table", { class: "scores" }, el("thead", {}, el("tr", {}, titles)), el("tbody", {}, rows));
  }
  function side(title, answer, scores, name, passages) {
    const told = Object.entries(scores).flatMap(([id, score]) => claims(id, score, name));
    return el("div", { class: "side" }, el("h4", { class: "title" }, title),
      answer === undefined ? el("p", {}, "(no answer is stored)") : answer === "" ? el("p", {}, "(a blank answer)") : el("p", { class: "text", dir: "auto" }, answer), told, passages);
  }
  const VERDICTS = { supported: "✔ supported", contradicted: "✘ contradicted", absent: "✘ not in the passages" };
  function claims(id, score, name) {
    const parts = [];
    if (score.claims) {
      parts.push(block(`Claims (${id})`, el("ul", { class: "claims" }, score.claims.map(([text, verdict, rank]) => {
        const known = Object.hasOwn(VERDICTS, verdict);
        const item = el("li", { class: known ? verdict : "" }, el("span", { class: "text", dir: "auto" }, text), " ", el("span", { class: "mark" }, known ? VERDICTS[verdict] : verdict));
        if (rank) {
          const link = el("button", { type: "button", class: "to-passage", "aria-label": `Go to passage ${rank}` }, `P${rank}`);
          link.addEventListener("click", () => light(`${name}-p${rank}`));
          item.append(link);
        }
        return item;
      }))));
    }
    if (score.questions) parts.push(block(`Questions the answer would answer (${id})`, el("ul", { class: "claims" }, score.questions.map(([text, cosine]) => el("li", {}, el("span", { class: "text", dir: "auto" }, text), typeof cosine === "number" ? el("span", { class: "mark" }, ` ${cosine.toFixed(2)}`) : "")))));
    for (const [key, texts] of score.lists || []) parts.push(block(`${key} (${id})`, el("ul", { class: "claims" }, texts.map((text) => el("li", { class: "text", dir: "auto" }, text)))));
    return parts;
  }
  function passageSides(sample, name) {
    const now = sample.passages || [], was = sample.passages_was || [];
    const compare = sample.passages_was !== undefined;
    const inNow = new Set(now.map((row) => row[0])), inWas = new Set(was.map((row) => row[0]));
    const helps = (scores) => {
      const told = new Map();
      for (const [id, score] of Object.entries(scores || {})) for (const [rank, good, of] of score.helps || []) {
        const words = of === 1 ? (good ? "helps" : "does not help") : `${good}${of === null ? "" : ` of ${of}`} sentences help`;
        told.set(rank, [...(told.get(rank) || []), `${words} (${id})`]);
      }
      return told;
    };
    const made = (rows, suffix, other, mark, scores) => {
      if (!rows.length) return "";
      const told = helps(scores);
      return block("Passages", rows.map(([place, rank, score]) => {
        const [key, text] = data.passages[place];
        const only = compare && !other.has(place);
        return el("div", { class: "passage" + (only ? ` ${mark}` : ""), id: `${name}-${suffix}-p${rank}`, tabindex: "-1" },
          el("div", { class: "name" }, el("b", {}, `P${rank}`), key ? el("code", {}, key) : "", typeof score === "number" ? `score ${score.toFixed(3)}` : "",
            only ? el("span", { class: "flag" }, mark === "gone" ? "not retrieved any more" : "not retrieved before") : "", (told.get(rank) || []).map((words) => el("span", {}, words))),
          el("div", { class: "text", dir: "auto" }, text));
      }));
    };
    return { now: made(now, "now", inWas, "new", sample.scores), was: made(was, "was", inNow, "gone", sample.was) };
  }
  function light(id) {
    const passage = $(id);
    if (!passage) return;
    for (const other of document.querySelectorAll(".passage.lit")) other.classList.remove("lit");
    passage.classList.add("lit");
    passage.scrollIntoView({ block: "center" });
    passage.focus({ preventScroll: true });
  }

  // ---- the list ---------------------------------------------------------------------------------------------------
  let found = [], shown = 0, wanted = {};
  function read() {
    return { words: plain(fields.text.value).split(/\s+/).filter(Boolean), metric: fields.metric.value, show: fields.show.value, cause: fields.cause.value, tag: fields.tag.value, sort: fields.sort.value };
  }
  function refresh() {
    wanted = read();
    found = chosen(wanted);
    shown = 0;
    list.replaceChildren();
    grow();
    const all = data.samples.length.toLocaleString("en");
    count.textContent = found.length === data.samples.length ? `${all} sample${data.samples.length === 1 ? "" : "s"}` : `${found.length.toLocaleString("en")} of ${all} samples`;
  }
  function grow() {
    const next = found.slice(shown, shown + PAGE);
    list.append(...next.map((sample) => card(sample, wanted)));
    shown += next.length;
    more.hidden = shown >= found.length;
    more.textContent = `Show more (${(found.length - shown).toLocaleString("en")} left)`;
  }
  function remember(id) {
    history.replaceState(null, "", id ? `#sample=${encodeURIComponent(id)}` : location.pathname + location.search);
  }
  function openFromAddress() {
    const named = /^#sample=(.*)$/.exec(location.hash);
    if (!named) return;
    let id;
    try { id = decodeURIComponent(named[1]); } catch { return; }
    const place = found.findIndex((sample) => sample.id === id);
    if (place < 0) return;
    while (shown <= place) grow();
    const item = list.children[place], head = item.querySelector(".head");
    toggle(item, head, item.sample, true);
    item.scrollIntoView();
    head.focus({ preventScroll: true });
  }

  for (const metric of metrics) fields.metric.append(el("option", { value: metric.id }, metric.id));
  if (!data.samples.some((sample) => Object.values(sample.scores).some((score) => score.before !== undefined))) fields.sort.value = "low";
  const start = fields.sort.value;
  form.hidden = false;
  let waiting = 0;
  fields.text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); });
  form.addEventListener("change", (event) => { if (event.target !== fields.text) refresh(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  form.addEventListener("reset", () => setTimeout(() => { fields.sort.value = start; refresh(); }, 0));
  more.addEventListener("click", () => { const before = shown; grow(); list.children[before]?.querySelector(".head").focus(); });
  new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting) && !more.hidden) grow(); }, { rootMargin: "600px" }).observe(more);
  addEventListener("hashchange", openFromAddress);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); fields.text.focus(); }
  });
  refresh();
  openFromAddress();
})();
