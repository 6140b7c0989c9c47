"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const stage = $("stage"), panel = $("panel"), search = $("search"), pick = $("pick"), range = $("range");
  const drawings = [...document.querySelectorAll(".drawing")], lists = [...document.querySelectorAll(".about-one")];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const scales = drawings.map(() => 1);
  let current = 0, chosen = null, playing = 0;
  document.documentElement.classList.add("js");

  // --- which workflow

  const svg = () => drawings[current].querySelector("svg");
  const size = () => svg().viewBox.baseVal;
  const nodes = (at = current) => [...drawings[at].querySelectorAll(".node[data-id]")];
  const steps = () => nodes().filter((each) => each.tabIndex === 0);
  const details = (id) => lists[current].querySelector(`details[data-id="${CSS.escape(id)}"]`);

  function open(at) {
    current = at;
    drawings.forEach((each, number) => { each.hidden = number !== at; });
    lists.forEach((each, number) => { each.hidden = number !== at; });
    if (pick) pick.value = String(at);
    if (!drawings[at].dataset.seen) { drawings[at].dataset.seen = "1"; fit(); }
    show();
    find();
  }

  // --- how large

  function zoom(to, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const before = scales[current], scale = Math.min(4, Math.max(0.1, to));
    const at = svg().getBoundingClientRect(), on = stage.getBoundingClientRect();
    const px = (x + on.left - at.left) / before, py = (y + on.top - at.top) / before;
    scales[current] = scale;
    svg().style.width = `${size().width * scale}px`;
    svg().style.height = `${size().height * scale}px`;
    const now = svg().getBoundingClientRect();
    stage.scrollLeft += now.left + px * scale - (x + on.left);
    stage.scrollTop += now.top + py * scale - (y + on.top);
    $("zoomed").textContent = `${Math.round(scale * 100)} %`;
  }

  function fit() {
    const { width, height } = size(), wide = stage.clientWidth - 34, high = stage.clientHeight - 34;
    const whole = Math.min(wide / width, high / height);
    zoom(Math.min(1.15, Math.max(whole, Math.min(1, wide / width))));
    stage.scrollTop = 0;
    const here = nodes().find((each) => each.classList.contains("here"));
    if (here) reveal(here);
  }

  function reveal(node) {
    const at = node.getBoundingClientRect(), on = stage.getBoundingClientRect();
    const left = at.left + at.width / 2 - on.left - on.width / 2, top = at.top + at.height / 2 - on.top - on.height / 2;
    stage.scrollBy({ left, top, behavior: calm || Math.hypot(left, top) > 900 ? "auto" : "smooth" });
  }

  // --- which step

  function choose(id, { focus = false, scroll = true, unfold = true } = {}) {
    for (const each of drawings[current].querySelectorAll(".chosen")) each.classList.remove("chosen");
    chosen = id;
    const node = nodes().find((each) => each.dataset.id === id), told = id && details(id);
    if (!node) return;
    node.classList.add("chosen");
    if (scroll) reveal(node);
    if (focus) node.focus({ preventScroll: true });
    if (told && unfold) {
      for (const other of lists[current].querySelectorAll("details.step[open]")) if (other !== told) other.open = false;
      told.open = true;
      told.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
    }
    const name = data.workflows[current].name;
    history.replaceState(null, "", `#${encodeURIComponent(name)}${id ? `:${encodeURIComponent(id)}` : ""}`);
  }

  function move(by) {
    const all = steps(), at = all.findIndex((each) => each.dataset.id === chosen);
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
    if (next) choose(next.dataset.id, { focus: true });
  }

  function clear() {
    choose(null);
    search.value = "";
    find();
  }

  // --- search

  function find() {
    const wanted = search.value.trim().toLowerCase();
    let count = 0, first = null, titled = null;
    const has = (each) => each.textContent.toLowerCase().includes(wanted);
    for (const node of nodes()) {
      const told = details(node.dataset.id);
      const fits = wanted && told && [...told.querySelectorAll("summary, .said, pre")].some(has);
      node.classList.toggle("found", Boolean(fits));
      node.classList.toggle("unfound", Boolean(wanted) && !fits);
      if (told) told.parentElement.hidden = Boolean(wanted) && !fits;
      if (fits) { count += 1; first = first || node; }
      if (fits && has(told.querySelector("summary"))) titled = titled || node;
    }
    for (const head of lists[current].querySelectorAll(".phase")) head.hidden = Boolean(wanted);
    $("found").textContent = wanted ? `${count} ${count === 1 ? "step" : "steps"} found` : "";
    return titled || first;
  }

  // --- a session: what was so at one record

  const session = data.session;
  const words = (seconds) => {
    if (seconds === null || seconds === undefined) return "";
    if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };

  const named = (pairs) => Object.assign(Object.create(null), pairs); // a step may be called `constructor`
  const titles = named(data.workflows[0].titles);

  function at(record) {
    let visits = named();
    const taken = named(), seen = session.path.slice(0, record + 1), last = seen[seen.length - 1];
    const enter = (id) => { if (id) visits[id] = (visits[id] || 0) + 1; };
    seen.forEach((entry, number) => {
      for (const [one, two] of entry.path) taken[`${one}\n${two}`] = (taken[`${one}\n${two}`] || 0) + 1;
      if (entry.visits) visits = named(entry.visits);
      else if (entry.path.length) enter(entry.path[entry.path.length - 1][1]);
      else if (!number || entry.to !== seen[number - 1].to) enter(entry.to);
    });
    const here = last.status === "active" || last.status === "waiting" || last.status === "open" ? last.to : null;
    return { visits, taken, here, last };
  }

  function ahead(from) {
    const seen = new Set(from ? [from] : []), stack = [...seen];
    while (stack.length) {
      const one = stack.pop();
      for (const edge of data.workflows[0].edges)
        if (edge[0] === one && !seen.has(edge[1])) { seen.add(edge[1]); stack.push(edge[1]); }
    }
    return seen;
  }

  function show() {
    if (!session || current !== 0) return;
    const record = Number(range.value), now = at(record), left = ahead(now.here);
    for (const node of nodes(0)) {
      const id = node.dataset.id, count = now.visits[id] || 0;
      const state = id === now.here ? "here" : count || id === ":start" ? "done" : left.has(id) ? "left" : "off";
      node.classList.remove("here", "done", "left", "off");
      node.classList.add(state);
      if (state === "here") node.setAttribute("aria-current", "step"); else node.removeAttribute("aria-current");
      badge(node, count);
      if (node.dataset.label) node.setAttribute("aria-label", `${node.dataset.label}${count > 1 ? ` ${count}×` : ""}${state === "here" ? ", here now" : ""}`);
      const mark = node.tabIndex === 0 && details(id) && details(id).querySelector(".now");
      if (mark) mark.textContent = state === "here" ? "here now" : "";
      const tag = node.tabIndex === 0 && details(id) && details(id).querySelector(".state");
      if (tag) {
        tag.className = `tag state ${state}`;
        tag.textContent = { here: "here now", done: "done", left: "still to come", off: "out of reach" }[state]
          + (count ? `, entered ${["", "once", "twice"][count] || `${count} times`}` : "");
      }
    }
    for (const line of drawings[0].querySelectorAll(".line")) {
      const gone = line.dataset.from === ":start" || Boolean(now.taken[`${line.dataset.from}\n${line.dataset.to}`]);
      line.classList.toggle("taken", gone);
    }
    const { last } = now, title = (id) => titles[id] || id || "";
    const what = last.outcome ? `${title(last.step)}: ${last.outcome}${last.capped ? " (at the limit)" : ""} → ${last.to ? title(last.to) : last.status}`
      : `${last.kind}${last.note ? ` ${last.note}` : ""}${last.to ? `, at ${title(last.to)}` : ""}`;
    $("told").textContent = `record ${record} of ${session.path.length - 1} · ${last.at.slice(0, 16).replace("T", " ")} UTC · ${what}`
      + `${last.seconds === null ? "" : ` · took ${words(last.seconds)}`}`;
    range.setAttribute("aria-valuetext", $("told").textContent);
  }

  function badge(node, count) {
    let mark = node.querySelector(".badge");
    if (count < 2) { if (mark) mark.remove(); return; }
    const box = node.querySelector(".shape").getBBox(), name = "http://www.w3.org/2000/svg";
    if (!mark) {
      mark = node.appendChild(document.createElementNS(name, "g"));
      mark.setAttribute("class", "badge");
      mark.setAttribute("aria-hidden", "true");
      mark.append(document.createElementNS(name, "rect"), document.createElementNS(name, "text"));
    }
    const [ground, text] = mark.children, x = box.x + box.width - 14, y = box.y;
    for (const [key, value] of Object.entries({ x: x - 13, y: y - 9, width: 26, height: 18, rx: 9 })) ground.setAttribute(key, value);
    text.setAttribute("x", x); text.setAttribute("y", y + 4);
    text.textContent = ` ${count}×`; // the space parts it from the title when it is read
  }

  function scrub(by) {
    if (!session) return;
    range.value = String(Number(range.value) + by);
    show();
    const here = nodes(0).find((each) => each.classList.contains("here"));
    if (here && current === 0) reveal(here);
  }

  function play() {
    if (playing) { clearInterval(playing); playing = 0; $("play").textContent = "Play"; return; }
    if (Number(range.value) >= session.path.length - 1) { range.value = "0"; show(); }
    $("play").textContent = "Pause";
    playing = setInterval(() => {
      if (Number(range.value) >= session.path.length - 1) play(); else scrub(1);
    }, 900);
  }

  // --- hands

  for (const [number, drawing] of drawings.entries()) {
    for (const node of drawing.querySelectorAll(".node[data-id]")) {
      const told = lists[number].querySelector(`details[data-id="${CSS.escape(node.dataset.id)}"]`);
      if (!told) continue;
      node.tabIndex = 0;
      node.setAttribute("role", "button");
      node.querySelector("title").remove(); // the list has its words; they would be read twice
      node.dataset.label = [...node.querySelectorAll("text")].map((each) => each.textContent).join(" ");
      node.setAttribute("aria-label", node.dataset.label);
    }
    drawing.querySelector("svg").setAttribute("role", "group");
  }
  let drag = null, fingers = new Map(), pinch = null;
  stage.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    if (event.pointerType === "mouse" && event.button === 0)
      drag = { x: event.clientX, y: event.clientY, left: stage.scrollLeft, top: stage.scrollTop, far: false };
    if (fingers.size === 2) pinch = { apart: apart(), scale: scales[current] };
  });
  const apart = () => { const [one, two] = [...fingers.values()]; return Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY); };
  addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (pinch && fingers.size === 2) {
      const [one, two] = [...fingers.values()], on = stage.getBoundingClientRect();
      zoom(pinch.scale * apart() / pinch.apart, (one.clientX + two.clientX) / 2 - on.left, (one.clientY + two.clientY) / 2 - on.top);
    } else if (drag) {
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.far && Math.hypot(dx, dy) > 4) { drag.far = true; stage.classList.add("grabbed"); }
      if (drag.far) { stage.scrollLeft = drag.left - dx; stage.scrollTop = drag.top - dy; }
    }
  });
  let dragged = false;
  const lift = (event) => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = null;
    dragged = Boolean(drag && drag.far);
    drag = null;
    stage.classList.remove("grabbed");
  };
  addEventListener("pointerup", lift);
  addEventListener("pointercancel", lift);
  stage.addEventListener("touchmove", (event) => { if (event.touches.length === 2) event.preventDefault(); }, { passive: false });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const on = stage.getBoundingClientRect();
    zoom(scales[current] * Math.exp(-event.deltaY / 250), event.clientX - on.left, event.clientY - on.top);
  }, { passive: false });
  stage.addEventListener("click", (event) => {
    if (dragged) { dragged = false; return; }
    const node = event.target.closest(".node[data-id]");
    if (node && node.tabIndex === 0) choose(node.dataset.id, { focus: true, scroll: false });
    else if (!node) choose(null);
  });
  stage.addEventListener("dblclick", (event) => {
    const node = event.target.closest(".node[data-id]"), told = node && details(node.dataset.id);
    const inner = told && told.querySelector("a.runs");
    const on = stage.getBoundingClientRect();
    if (inner) inner.click(); else if (!node) zoom(scales[current] * 1.5, event.clientX - on.left, event.clientY - on.top);
  });
  panel.addEventListener("toggle", (event) => {
    const told = event.target;
    if (told.matches && told.matches("details.step") && told.open && told.dataset.id !== chosen) choose(told.dataset.id, { unfold: true });
  }, true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && go(link.getAttribute("href"))) event.preventDefault();
  });

  function go(hash) {
    const [name, id] = hash.slice(1).split(":").map((each) => { try { return decodeURIComponent(each); } catch { return each; } });
    const number = data.workflows.findIndex((each) => each.name === name);
    if (number < 0) return false;
    if (number !== current) open(number);
    choose(id || null, { focus: Boolean(id) });
    return true;
  }
  addEventListener("hashchange", () => go(location.hash));

  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=range]), select, textarea");
    if (event.key === "Escape") { clear(); if (typing) event.target.blur(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const inPanel = panel.contains(event.target), onRange = event.target === range;
    const keys = {
      "/": () => search.focus(), "+": () => zoom(scales[current] * 1.25), "=": () => zoom(scales[current] * 1.25),
      "-": () => zoom(scales[current] / 1.25), "0": fit, "j": () => move(1), "k": () => move(-1),
      "[": () => scrub(-1), "]": () => scrub(1), "?": () => { $("help").open = !$("help").open; $("help").scrollIntoView(); },
    };
    if (!inPanel && !onRange) Object.assign(keys, { ArrowDown: () => move(1), ArrowUp: () => move(-1) });
    if (event.target.closest && event.target.closest(".node"))
      for (const key of ["Enter", " "]) keys[key] = () => choose(event.target.closest(".node").dataset.id, { scroll: false });
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { const first = find(); if (first) choose(first.dataset.id); }
  });
  if (pick) pick.addEventListener("change", () => { open(Number(pick.value)); choose(null); });
  $("in").addEventListener("click", () => zoom(scales[current] * 1.25));
  $("out").addEventListener("click", () => zoom(scales[current] / 1.25));
  $("fit").addEventListener("click", fit);
  if (session) {
    range.addEventListener("input", () => scrub(0));
    $("back").addEventListener("click", () => scrub(-1));
    $("on").addEventListener("click", () => scrub(1));
    $("play").addEventListener("click", play);
  }
  open(0);
  if (location.hash) go(location.hash);
  else if (session) { const here = nodes(0).find((each) => each.classList.contains("here")); if (here) choose(here.dataset.id, { scroll: true }); }
})();
