// Elements from values. Text goes in as text nodes and attributes as attributes, never as markup:
// what a recording holds cannot become part of the page.

type Child = Node | string | null | undefined | false;
type Handlers = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Properties {
  class?: string;
  on?: Handlers;
  style?: Record<string, string>;
  [attribute: string]: string | number | boolean | undefined | Handlers | Record<string, string>;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key === "on") {
      for (const [event, handler] of Object.entries(value as Handlers)) {
        element.addEventListener(event, handler as EventListener);
      }
    } else if (key === "style") {
      for (const [name, text] of Object.entries(value as Record<string, string>)) {
        element.style.setProperty(name, text);
      }
    } else {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) if (child) element.append(child);
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

// A number with its name above and what it means below, inside a dl.
export function figure(name: string, value: string, about: string): HTMLElement {
  return h(
    "div",
    { class: "figure-box" },
    h("dt", {}, name),
    h("dd", {}, value),
    h("dd", { class: "dim" }, about),
  );
}

let ids = 0;
// A heading, a line that says what one sees, and the thing itself.
export function section(title: string, about: string, ...children: Child[]): HTMLElement {
  const id = `section-${++ids}`;
  return h(
    "section",
    { class: "section", "aria-labelledby": id },
    h("h2", { id }, title),
    about ? h("p", { class: "about" }, about) : null,
    ...children,
  );
}

// One polite voice for what the keyboard does in the charts.
const voice = h("div", { class: "sr-only", role: "status", "aria-live": "polite" });
export function speaker(): HTMLElement {
  return voice;
}
export function say(text: string): void {
  if (voice.textContent !== text) voice.textContent = text;
}
