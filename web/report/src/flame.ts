// Live bytes by source: file, function, line, each as wide as what it holds at the chosen moment.
import { type HierarchyRectangularNode, hierarchy, partition } from "d3-hierarchy";
import { fill, h, say } from "./dom.ts";
import { bytes, percent, plural } from "./format.ts";
import { type Run, kNone } from "./run.ts";
import { hide_tip, show_tip } from "./tip.ts";
import type { View } from "./view.ts";

interface Node {
  name: string;
  title: string;
  key: string; // the way from the root: what a choice survives a change of moment by
  bytes: number;
  count: number;
  children: Node[];
}

function child(parent: Node, name: string, title: string): Node {
  const key = `${parent.key}\n${title}`;
  let node = parent.children.find((each) => each.key === key);
  if (!node) parent.children.push((node = { name, title, key, bytes: 0, count: 0, children: [] }));
  return node;
}

export function tree_at(view: View, time: number): Node {
  const { run } = view;
  const root: Node = {
    name: "all",
    title: "all live memory",
    key: "",
    bytes: 0,
    count: 0,
    children: [],
  };
  const held = new Float64Array(run.sites.length + 1);
  const counts = new Uint32Array(run.sites.length + 1);
  const { born, freed, nbytes } = run.storages;
  for (let s = 0; s < run.storages.count; ++s) {
    if (born[s]! > time || freed[s]! <= time || (view.shown_storages && !view.shown_storages[s]))
      continue;
    const site = site_of(run, s);
    const at = site === kNone ? run.sites.length : site;
    held[at]! += nbytes[s]!;
    ++counts[at]!;
  }
  for (let i = 0; i <= run.sites.length; ++i) {
    if (!counts[i]) continue;
    const site = run.sites[i];
    const way = [root];
    if (!site) {
      way.push(child(root, "no source line", "made without a source line"));
    } else {
      const file = child(root, site.base, site.file);
      const inside = child(file, site.brief || "(no function)", site.function);
      way.push(
        file,
        inside,
        child(inside, `${site.base}:${site.line}`, `${site.file}:${site.line}`),
      );
    }
    for (const node of way) {
      node.bytes += held[i]!;
      node.count += counts[i]!;
    }
  }
  return root;
}

function site_of(run: Run, storage: number): number {
  const site = run.storages.site[storage]!;
  if (site !== kNone) return site;
  const first = run.tensors_on(storage)[0];
  return first === undefined ? kNone : run.tensors.birth_site[first]!;
}

const kRow = 30;
const kLevels = 4;

export class Flame {
  readonly element = h("div", {
    class: "flame",
    role: "tree",
    "aria-label": "Live bytes by source file, function and line",
  });
  private root: Node;
  private zoomed = ""; // key
  private focus = "";

  constructor(view: View) {
    this.root = tree_at(view, view.moment);
    new ResizeObserver(() => view.later(this.draw)).observe(this.element);
    view.on(["moment", "filter"], () => {
      this.root = tree_at(view, view.moment);
      this.draw();
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("pointerleave", hide_tip);
    this.element.style.height = `${kLevels * kRow}px`;
  }

  private readonly draw = (): void => {
    const width = this.element.clientWidth;
    if (!width) return;
    const held_focus = this.element.contains(document.activeElement);
    const tree = partition<Node>()(
      hierarchy(this.root)
        .sum((node) => (node.children.length ? 0 : Math.max(node.bytes, 1e-9)))
        .sort((a, b) => b.value! - a.value!),
    );
    const nodes = tree.descendants();
    const top = nodes.find((node) => node.data.key === this.zoomed) ?? tree;
    this.zoomed = top.data.key;
    const scale = width / (top.x1 - top.x0 || 1);
    const boxes: HTMLElement[] = [];
    if (this.root.bytes === 0) {
      fill(this.element, h("p", { class: "empty" }, "Nothing is alive at this moment."));
      return;
    }
    for (const node of nodes) {
      const x0 = (Math.max(node.x0, top.x0) - top.x0) * scale;
      const x1 = (Math.min(node.x1, top.x1) - top.x0) * scale;
      if (x1 - x0 < 1.5) continue;
      boxes.push(this.box(node, x0, x1 - x0));
    }
    const current = boxes.find((box) => box.dataset.key === this.focus) ?? boxes[0];
    if (current) current.tabIndex = 0;
    fill(this.element, ...boxes);
    if (held_focus) current?.focus();
  };

  private box(node: HierarchyRectangularNode<Node>, x: number, width: number): HTMLElement {
    const { data } = node;
    const label = `${data.title}: ${bytes(data.bytes)} in ${plural(data.count, "storage")}, ${percent(data.bytes, this.root.bytes)}`;
    const text = node.depth === 0 ? `${bytes(data.bytes)} live` : data.name;
    return h(
      "button",
      {
        class: `flame-box depth-${node.depth}${width > 30 ? "" : " thin"}`,
        role: "treeitem",
        tabindex: -1,
        "data-key": data.key,
        "aria-label": label,
        "aria-level": node.depth + 1,
        "aria-selected": data.key === this.zoomed ? "true" : "false",
        style: {
          left: `${x}px`,
          width: `${Math.max(1, width - 1)}px`,
          top: `${node.depth * kRow}px`,
          height: `${kRow - 2}px`,
        },
        on: {
          click: () => this.zoom(data.key),
          focus: () => (this.focus = data.key),
          pointermove: (event) =>
            show_tip(
              { x: event.clientX, y: event.clientY },
              h(
                "div",
                { class: "tip-title" },
                h("span", { class: "mono" }, data.title),
                h("b", {}, bytes(data.bytes)),
              ),
              h(
                "div",
                {},
                `${plural(data.count, "storage")}, ${percent(data.bytes, this.root.bytes)} of what is alive`,
              ),
            ),
        },
      },
      width > 30 ? h("span", {}, text) : null,
      width > (node.depth === 3 ? 230 : 150) && node.depth > 0
        ? h("span", { class: "figure" }, bytes(data.bytes))
        : null,
    );
  }

  // Into a box; out again from the one that fills the width.
  private zoom(key: string): void {
    const out = key === this.zoomed && key !== "";
    this.zoomed = out ? key.slice(0, key.lastIndexOf("\n")) : key;
    this.focus = key;
    hide_tip();
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const boxes = [...this.element.querySelectorAll<HTMLElement>(".flame-box")];
    const at = boxes.findIndex((box) => box === document.activeElement);
    if (at < 0) return;
    const key = boxes[at]!.dataset.key!;
    const level = Number(boxes[at]!.getAttribute("aria-level"));
    const same = boxes.filter((box) => Number(box.getAttribute("aria-level")) === level);
    let to: HTMLElement | undefined;
    if (event.key === "ArrowRight") to = same[same.indexOf(boxes[at]!) + 1];
    else if (event.key === "ArrowLeft") to = same[same.indexOf(boxes[at]!) - 1];
    else if (event.key === "ArrowUp")
      to = boxes.find((box) => box.dataset.key === key.slice(0, key.lastIndexOf("\n")));
    else if (event.key === "ArrowDown")
      to = boxes.find((box) => box.dataset.key!.startsWith(`${key}\n`));
    else if (event.key === "Escape" && this.zoomed !== "") {
      this.zoom(this.zoomed);
      event.stopPropagation();
      return;
    } else return;
    event.preventDefault();
    if (!to) return;
    boxes[at]!.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
    say(to.getAttribute("aria-label") ?? "");
  }
}
