(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const main = byId("conversation"), search = byId("search"), hits = byId("hits"), help = byId("help");
  const entries = all(".entry", main), compactions = entries.filter((it) => it.classList.contains("compaction"));
  const rows = new Map(all("#tree li").map((row) => [row.firstElementChild.hash, row]));
  let current = null;

  const unfold = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const mark = (entry) => {
    current?.classList.remove("now");
    current = entry;
    entry.classList.add("now");
    all("#tree li.now").forEach((row) => row.classList.remove("now"));
    let row;
    for (let at = entries.indexOf(entry); at >= 0 && !row; at--) row = rows.get("#" + entries[at].id);
    row?.classList.add("now");
    row?.scrollIntoView({ block: "nearest", behavior: "instant" });
    const where = byId("where"), number = compactions.indexOf(entry);
    if (where && number >= 0) where.textContent = `${number + 1} of ${compactions.length}`;
  };
  const go = (entry) => {
    if (!entry) return;
    unfold(entry);
    mark(entry);
    entry.scrollIntoView({ block: "start", behavior: "instant" });
  };
  const shown = () => entries.filter((entry) => entry.getClientRects().length > 0);
  // The entry that is read: the one that was gone to while it is visible, else the first one below the bar.
  const reading = (list) => {
    if (current) {
      const box = current.getBoundingClientRect();
      if (box.bottom > 70 && box.top < innerHeight) return list.indexOf(current);
    }
    const next = list.findIndex((entry) => entry.getBoundingClientRect().bottom > 80);
    return next < 0 ? list.length : next - 1;
  };
  const step = (by) => {
    const list = shown(), at = reading(list) + by;
    go(list[Math.max(0, Math.min(list.length - 1, at))]);
  };
  const stepCompaction = (by) => {
    const top = (entry) => entry.getBoundingClientRect().top;
    const list = shown(), here = current && compactions.includes(current) ? current : list[Math.max(0, reading(list))];
    const order = (entry) => entries.indexOf(entry);
    const later = compactions.filter((it) => order(it) > order(here));
    const earlier = compactions.filter((it) => order(it) < order(here));
    if (by > 0) go(here === compactions[0] && current !== here && top(here) > 0 ? here : later[0]);
    else go(earlier.at(-1));
  };

  // Search: matches are ranges, which the browser paints; nothing in the page changes.
  const paints = "highlights" in CSS;
  let found = [], at = -1;
  const clear = () => {
    found = [];
    at = -1;
    hits.textContent = "";
    if (paints) CSS.highlights.clear();
  };
  const find = () => {
    clear();
    const wanted = search.value.toLowerCase();
    if (!wanted) return;
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (found.length < 5000 && walker.nextNode()) {
      const node = walker.currentNode, text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + wanted.length)) {
        const range = new Range();
        range.setStart(node, from);
        range.setEnd(node, from + wanted.length);
        found.push(range);
      }
    }
    if (paints) CSS.highlights.set("found", new Highlight(...found));
    hits.textContent = found.length ? `${found.length} found` : "nothing found";
  };
  const visit = (by) => {
    if (!found.length) return;
    at = (at + by + found.length) % found.length;
    const range = found[at], holder = range.startContainer.parentElement;
    unfold(range.startContainer);
    const entry = holder.closest(".entry");
    if (entry) mark(entry);
    if (paints) CSS.highlights.set("here", new Highlight(range));
    holder.scrollIntoView({ block: "center", behavior: "instant" });
    hits.textContent = `${at + 1} of ${found.length}`;
  };
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      search.value = "";
      clear();
      search.blur();
    } else if (event.key === "Enter") {
      clearTimeout(waiting);
      if (at < 0) find();
      visit(event.shiftKey ? -1 : 1);
      event.preventDefault();
    }
  });

  let open = false;
  const unfoldAll = () => {
    open = !open;
    all("details", main).forEach((it) => (it.open = open));
    byId("unfold").textContent = open ? "fold" : "unfold";
  };
  const unfoldCurrent = () => {
    const inside = current ? all("details", current) : [];
    const opened = inside.some((it) => !it.open);
    inside.forEach((it) => (it.open = opened));
  };
  const showTree = () => document.body.classList.toggle("tree");
  byId("unfold").addEventListener("click", unfoldAll);
  byId("keys").addEventListener("click", () => help.showModal());
  byId("show-tree").addEventListener("click", showTree);
  byId("tree").addEventListener("click", () => document.body.classList.remove("tree"));
  byId("next")?.addEventListener("click", () => stepCompaction(1));
  byId("previous")?.addEventListener("click", () => stepCompaction(-1));

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    n: () => stepCompaction(1),
    p: () => stepCompaction(-1),
    o: unfoldCurrent,
    e: unfoldAll,
    t: showTree,
    g: () => scrollTo(0, 0),
    G: () => scrollTo(0, document.body.scrollHeight),
    "/": () => search.focus(),
    "?": () => help.showModal(),
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, textarea") || help.open;
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });

  const follow = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    // Summaries name entries by the beginnings of their ids.
    const target = name && (document.getElementById(name) ?? document.querySelector(`a.id[id^="${CSS.escape(name)}"]`));
    const entry = target && target.closest(".entry");
    if (entry) go(entry);
  };
  addEventListener("hashchange", follow);
  follow();

  // The timeline tells the size under the pointer, and leads to the entry.
  const plot = byId("plot");
  if (plot) {
    const points = plot.dataset.points.split(" ").map((point) => point.split(":").map(Number));
    const last = points.at(-1)[0], cursor = byId("cursor"), readout = byId("readout");
    const under = (event) => {
      const box = plot.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * last;
      return points.reduce((best, point) => (Math.abs(point[0] - place) < Math.abs(best[0] - place) ? point : best));
    };
    const short = (tokens) => (tokens < 1000 ? `${tokens}` : tokens < 999950 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1e6).toFixed(1)}M`);
    plot.addEventListener("pointermove", (event) => {
      const [place, , tokens] = under(event), x = (place / last) * 1000;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.style.visibility = "visible";
      readout.textContent = `entry ${place + 1} of ${last + 1}: ~${short(tokens)}`;
    });
    plot.addEventListener("pointerleave", () => {
      cursor.style.visibility = "";
      readout.textContent = "";
    });
    plot.addEventListener("click", (event) => {
      if (event.target.closest(".mark")) return;
      const wanted = under(event)[1];
      go(entries.findLast((entry) => Number(entry.id.slice(1)) <= wanted && !entry.closest(".left")));
    });
  }
})();
