"use strict";
// Without this script the page shows all it has; the script adds the theme, the search and the zoom.

const theme = document.getElementById("theme");
const darkly = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (darkly.matches ? "dark" : "light")) === "dark";
const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
theme.hidden = false;
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
darkly.addEventListener("change", showTheme);
showTheme();

// What is folded is printed, but for tables that repeat a drawing.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open]):not(.numbers)")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});

const SIZE = 1000, MOST_ZOOM = 24, MOST_NAMES = 40, MOST_TOLD = 12;

// Vertices and edges of one drawing.
function read(svg) {
  const vertices = [...svg.querySelectorAll(".v")].map((element, number) => {
    const place = element.transform.baseVal.getItem(0).matrix;
    const name = element.querySelector("title").textContent;
    return { element, number, x: place.e, y: place.f, name, made: element.classList.contains("made"),
             drawn: element.querySelector("text"), into: [], from: [], edges: [] };
  });
  for (const element of svg.querySelectorAll(".e")) {
    const source = vertices[element.dataset.s], target = vertices[element.dataset.t];
    source.edges.push(element);
    target.edges.push(element);
    source.from.push(target);
    target.into.push(source);
  }
  const markers = [...svg.querySelectorAll("marker")];
  // the browser's own tooltips would cover what the line below the pictures says
  for (const title of svg.querySelectorAll("g title")) title.remove();
  const byDegree = [...vertices].sort((a, b) => b.edges.length - a.edges.length);
  return { svg, box: svg.parentElement, vertices, byDegree, markers };
}

function pictures(root) {
  const drawings = [...root.querySelectorAll(".view > svg")].map(read);
  const told = root.querySelector(".told");
  const field = root.querySelector("input");
  const view = { x: SIZE / 2, y: SIZE / 2, zoom: 1 };
  let chosen = null, matches = [], sought = "";

  // -- view

  function show() {
    const size = SIZE / view.zoom;
    const inside = (at) => Math.min(SIZE - size / 2, Math.max(size / 2, at));
    view.x = inside(view.x);
    view.y = inside(view.y);
    for (const d of drawings) {
      d.svg.setAttribute("viewBox", [view.x - size / 2, view.y - size / 2, size, size].map((n) => n.toFixed(2)).join(" "));
      const shrunk = view.zoom ** -0.7;
      const pixel = size / (d.box.clientWidth || 500);
      d.svg.style.setProperty("--k", shrunk.toFixed(4));
      d.svg.style.setProperty("--t", (pixel * 12 / 22).toFixed(4));
      for (const m of d.markers) {
        m.setAttribute("markerWidth", 13 * shrunk);
        m.setAttribute("markerHeight", 13 * shrunk);
      }
      d.box.classList.toggle("zoomed", view.zoom > 1);
      name(d, size, pixel);
    }
    for (const button of root.querySelectorAll("[data-zoom]")) {
      const end = button.dataset.zoom === "in" ? view.zoom >= MOST_ZOOM : view.zoom <= 1;
      button.setAttribute("aria-disabled", String(end));
    }
  }

  // Labels that fit beside each other, those of vertices with many edges first; the chosen one always.
  function name(d, size, pixel) {
    const boxes = [];
    const near = chosen === null ? [] : [d.vertices[chosen]].filter(Boolean);
    const told = new Set([...near, ...near.flatMap((v) => [...v.into, ...v.from])]);
    const order = new Set([...told, ...d.byDegree]);
    const crowded = d.vertices.length > 60 && view.zoom < 2;
    for (const v of order) {
      const out = Math.abs(v.x - view.x) > size / 2 || Math.abs(v.y - view.y) > size / 2;
      const wanted = !out && boxes.length < MOST_NAMES && (!crowded || told.has(v));
      const half = v.drawn.textContent.length * 3.4 * pixel + 3 * pixel, high = 16 * pixel;
      // not over the edge of the picture
      const shift = Math.max(view.x - size / 2 + half, Math.min(view.x + size / 2 - half, v.x)) - v.x;
      v.drawn.setAttribute("x", shift.toFixed(2));
      const box = [v.x + shift - half, v.y - high - 6 * pixel, v.x + shift + half, v.y - 6 * pixel];
      const free = boxes.every((b) => box[2] < b[0] || b[2] < box[0] || box[3] < b[1] || b[3] < box[1]);
      const named = wanted && free;
      v.element.classList.toggle("named", named);
      if (named) boxes.push(box);
    }
    d.svg.classList.remove("labelled");
  }

  function zoomBy(factor, x = view.x, y = view.y) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * factor));
    view.x = x + (view.x - x) * view.zoom / zoom;
    view.y = y + (view.y - y) * view.zoom / zoom;
    view.zoom = zoom;
    show();
  }

  function all() {
    view.zoom = 1;
    show();
  }

  function move(x, y) {
    view.x += x / view.zoom;
    view.y += y / view.zoom;
    show();
  }

  // -- what is told of a vertex

  function line(parent, head, names) {
    const span = document.createElement("span");
    const shown = names.slice(0, MOST_TOLD);
    span.append(`${head} (${names.length})`);
    shown.forEach((each, i) => {
      const bdi = document.createElement("bdi");
      bdi.textContent = each;
      span.append(i ? ", " : ": ", bdi);
    });
    if (names.length > MOST_TOLD) span.append(", …");
    parent.append(span);
  }

  function describe(v) {
    const strong = document.createElement("strong"), bdi = document.createElement("bdi");
    bdi.textContent = v.name;
    strong.append(bdi);
    told.append(strong, v.made ? " (synthetic)" : "");
    const images = drawings.flatMap((d) => twin(d, v));
    for (const image of images) {
      const other = document.createElement("bdi");
      other.textContent = image.name;
      told.append(" is ", other, " in the other picture");
    }
    line(told, "edges to", v.from.map((each) => each.name));
    line(told, "edges from", v.into.map((each) => each.name));
  }

  // The vertex of the same number at the same place in another drawing is the same vertex.
  function twin(d, v) {
    const other = d.vertices[v.number];
    return other && other !== v && other.x === v.x && other.y === v.y ? [other] : [];
  }

  function mark(v, how) {
    const marked = v ? drawings.flatMap((d) => (d.vertices[v.number] === v ? [v] : twin(d, v))) : [];
    for (const d of drawings) {
      const here = marked.find((each) => d.vertices.includes(each));
      d.svg.classList.toggle("marked", Boolean(here) || (how === "found" && !v));
      const near = new Set(here ? [...here.into, ...here.from] : []);
      for (const each of d.vertices) {
        each.element.classList.toggle("near", near.has(each));
        each.element.classList.toggle("chosen", each === here);
      }
      const edges = new Set(here ? here.edges : []);
      for (const each of d.svg.querySelectorAll(".e")) each.classList.toggle("near", edges.has(each));
    }
  }

  function tell(v, quietly, before = "") {
    told.setAttribute("aria-live", quietly ? "off" : "polite");
    told.replaceChildren(before);
    if (v) describe(v);
  }

  let current = null;
  function choose(v, before = "") {
    current = v;
    chosen = v ? v.number : null;
    mark(v);
    tell(v, false, before);
    if (v) {
      const size = SIZE / view.zoom;
      if (Math.abs(v.x - view.x) > size / 2 || Math.abs(v.y - view.y) > size / 2) {
        view.x = v.x;
        view.y = v.y;
      }
    }
    show();
  }

  // -- search

  function search(next) {
    const text = field.value.trim().toLocaleLowerCase();
    const again = next && text === sought && matches.length > 0;
    if (again) {
      matches.push(matches.shift());
    } else {
      sought = text;
      const rank = (v) => {
        const at = v.name.toLocaleLowerCase().indexOf(text);
        return v.name.length === text.length ? 0 : at === 0 ? 1 : 2;
      };
      const found = text ? drawings.flatMap((d) => d.vertices).filter((v) => v.name.toLocaleLowerCase().includes(text)) : [];
      matches = found.sort((a, b) => rank(a) - rank(b));
    }
    for (const d of drawings) for (const v of d.vertices) v.element.classList.toggle("found", matches.includes(v));
    if (!matches.length) {
      choose(null, text ? "No vertex has such a label." : "");
      return;
    }
    const [v] = matches;
    view.zoom = Math.max(view.zoom, 4);
    view.x = v.x;
    view.y = v.y;
    choose(v, matches.length > 1 ? `${matches.length} found; Enter goes to the next. ` : "");
  }

  root.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    search(true);
    if (matches.length) root.querySelector(".views").scrollIntoView({ block: "nearest" });
  });
  field.addEventListener("input", () => search(false));

  // -- keys, buttons, pointer

  const keys = {
    "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), "0": all,
    ArrowLeft: () => move(-100, 0), ArrowRight: () => move(100, 0),
    ArrowUp: () => move(0, -100), ArrowDown: () => move(0, 100),
    Escape: () => choose(null),
  };

  function step(d, by) {
    const at = current && d.vertices.includes(current) ? d.byDegree.indexOf(current) : -1;
    choose(d.byDegree.at((at + by + (at < 0 && by < 0 ? 1 : 0)) % d.byDegree.length));
  }

  for (const button of root.querySelectorAll("[data-zoom]")) {
    const acts = { in: keys["+"], out: keys["-"], all };
    button.addEventListener("click", acts[button.dataset.zoom]);
  }

  for (const d of drawings) {
    const { box, svg } = d;
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.setAttribute("aria-label", `Picture to move in: ${svg.querySelector("title").textContent}`);
    box.setAttribute("aria-describedby", `${root.id}-keys`);
    const vertexOf = (event) => {
      const element = event.target.closest(".v");
      return element ? d.vertices[element.dataset.v] : null;
    };
    const placeOf = (event) => {
      const rect = box.getBoundingClientRect(), size = SIZE / view.zoom;
      return [view.x + ((event.clientX - rect.left) / rect.width - 0.5) * size,
              view.y + ((event.clientY - rect.top) / rect.height - 0.5) * size];
    };
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = keys[event.key] || { n: () => step(d, 1), p: () => step(d, -1) }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== box) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...placeOf(event));
    }, { passive: false });
    let from = null;
    box.addEventListener("pointerdown", (event) => {
      if (event.button === 0) from = { x: event.clientX, y: event.clientY, far: false };
    });
    box.addEventListener("pointermove", (event) => {
      if (!from || view.zoom === 1) return;
      const x = event.clientX - from.x, y = event.clientY - from.y;
      if (!from.far && Math.hypot(x, y) < 4) return;
      if (!from.far) box.setPointerCapture(event.pointerId);
      move(-x * SIZE / box.clientWidth, -y * SIZE / box.clientWidth);
      from = { x: event.clientX, y: event.clientY, far: true };
    });
    box.addEventListener("pointerup", (event) => {
      if (from && !from.far) choose(vertexOf(event));
      from = null;
    });
    box.addEventListener("pointercancel", () => { from = null; });
    box.addEventListener("pointerover", (event) => {
      const v = vertexOf(event);
      if (v && !from) {
        mark(v);
        tell(v, true);
      }
    });
    box.addEventListener("pointerleave", () => {
      mark(current);
      tell(current, true);
    });
  }

  for (const element of root.querySelectorAll(".tools, .told, .keys")) element.hidden = false;
  addEventListener("resize", show);
  show();
}

for (const root of document.querySelectorAll(".pictures")) pictures(root);
