// Where the panel is on the page, and how large: docked right or below, or floating; on a small
// screen a sheet at the bottom. Moved by pointer and by keyboard, remembered, never out of sight.
import { h } from "../../../web/report/src/dom.ts";
import { icon } from "./icons.ts";

export const docks = ["right", "bottom", "float"] as const;
export type Dock = (typeof docks)[number];

const kSmall = 520; // width of the window, in pixels
const kLeast = 300;
const kSheet = 360; // height that shows lines
const kStep = 24; // of the arrow keys

export interface Measures {
  dock: Dock;
  right: number; // width, docked right
  bottom: number; // height, docked at the bottom
  sheet: number; // height, as a sheet
  x: number;
  y: number;
  width: number;
  height: number;
}

export function measures_of(kept: Record<string, unknown>): Measures {
  const number = (name: string, otherwise: number) => {
    const value = kept[name];
    return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
  };
  return {
    dock: docks.find((each) => each === kept.dock) ?? "right",
    right: number("right", 440),
    bottom: number("bottom", 360),
    sheet: number("sheet", Math.max(Math.round(innerHeight * 0.7), kSheet)),
    x: number("x", 24),
    y: number("y", 24),
    width: number("width", 460),
    height: number("height", 620),
  };
}

const clamp = (value: number, least: number, most: number) =>
  Math.round(Math.max(least, Math.min(value, Math.max(least, most))));

export class Place {
  readonly edge: HTMLElement; // changes the size
  readonly grip: HTMLElement; // moves, when floating
  private readonly ends: (() => void)[] = [];

  constructor(
    private readonly panel: HTMLElement,
    readonly measures: Measures,
    private readonly changed: () => void,
  ) {
    this.edge = h("div", { class: "edge", role: "separator", tabindex: 0 });
    this.grip = h(
      "button",
      {
        class: "tool grip",
        type: "button",
        "aria-label": "Move the panel: drag, or arrow keys",
        title: "Move",
      },
      icon("brand"),
    );
    this.drags(this.edge, (dx, dy, from) => this.resize(dx, dy, from));
    this.drags(this.grip, (dx, dy, from) => this.move(dx, dy, from));
    const fit = () => this.apply();
    addEventListener("resize", fit);
    this.ends.push(() => removeEventListener("resize", fit));
  }

  get is_small(): boolean {
    return innerWidth <= kSmall;
  }

  // As a page of its own it fills the window.
  set_dock(dock: Dock): void {
    this.measures.dock = dock;
    this.apply();
    this.changed();
  }

  apply(): void {
    const { panel, measures: m, edge } = this;
    const shape = this.is_small ? "sheet" : m.dock;
    panel.dataset.dock = shape;
    const set = (
      left: string,
      top: string,
      right: string,
      bottom: string,
      width: string,
      height: string,
    ) => Object.assign(panel.style, { left, top, right, bottom, width, height });
    const width = clamp(shape === "right" ? m.right : m.width, kLeast, innerWidth - 8);
    const wanted = shape === "sheet" ? m.sheet : shape === "bottom" ? m.bottom : m.height;
    const height = clamp(wanted, Math.min(200, innerHeight), innerHeight - 8);
    if (shape === "right") set("auto", "0", "0", "0", `${width}px`, "auto");
    else if (shape === "float") {
      const x = clamp(m.x, 0, innerWidth - width);
      const y = clamp(m.y, 0, innerHeight - height);
      set(`${x}px`, `${y}px`, "auto", "auto", `${width}px`, `${height}px`);
    } else set("0", "auto", "0", "0", "auto", `${height}px`);
    const wide = shape === "right";
    const value = wide ? width : height;
    edge.setAttribute("aria-orientation", wide ? "vertical" : "horizontal");
    edge.setAttribute("aria-label", shape === "float" ? "Size" : wide ? "Width" : "Height");
    edge.setAttribute("aria-valuemin", String(wide ? kLeast : 200));
    edge.setAttribute("aria-valuemax", String(wide ? innerWidth : innerHeight));
    edge.setAttribute("aria-valuenow", String(value));
    this.grip.tabIndex = shape === "float" ? 0 : -1;
  }

  destroy(): void {
    for (const end of this.ends) end();
  }

  // From what is on the screen, so that a drag never begins with a dead stretch.
  private resize(dx: number, dy: number, from: DOMRect): void {
    const { measures: m } = this;
    const width = clamp(
      from.width + (this.panel.dataset.dock === "right" ? -dx : dx),
      kLeast,
      innerWidth - 8,
    );
    const height = clamp(
      from.height + (this.panel.dataset.dock === "float" ? dy : -dy),
      200,
      innerHeight - 8,
    );
    if (this.panel.dataset.dock === "right") m.right = width;
    else if (this.panel.dataset.dock === "bottom") m.bottom = height;
    else if (this.panel.dataset.dock === "sheet") m.sheet = height;
    else Object.assign(m, { x: from.x, y: from.y, width, height });
    this.apply();
  }

  private move(dx: number, dy: number, from: DOMRect): void {
    if (this.panel.dataset.dock !== "float") return;
    this.measures.x = clamp(from.x + dx, 0, innerWidth - from.width);
    this.measures.y = clamp(from.y + dy, 0, innerHeight - from.height);
    this.apply();
  }

  private drags(handle: HTMLElement, by: (dx: number, dy: number, from: DOMRect) => void): void {
    let start: { x: number; y: number; from: DOMRect } | null = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      handle.setPointerCapture(event.pointerId);
      start = { x: event.clientX, y: event.clientY, from: this.panel.getBoundingClientRect() };
    });
    handle.addEventListener("pointermove", (event) => {
      if (start) by(event.clientX - start.x, event.clientY - start.y, start.from);
    });
    const end = () => {
      if (start) this.changed();
      start = null;
    };
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
    handle.addEventListener("keydown", (event) => {
      const steps: Record<string, [number, number]> = {
        ArrowLeft: [-kStep, 0],
        ArrowRight: [kStep, 0],
        ArrowUp: [0, -kStep],
        ArrowDown: [0, kStep],
      };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      by(...step, this.panel.getBoundingClientRect());
      this.changed();
    });
  }
}
