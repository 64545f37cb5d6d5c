// Light or dark: as the system has it, until the switch says otherwise; what it says is kept.
import { h } from "./dom.ts";

let root: HTMLElement = document.documentElement; // carries data-theme
let kept_as = "";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: string | null = null;
let printing = false;

export function is_dark(): boolean {
  if (printing) return false;
  return chosen ? chosen === "dark" : system.matches;
}

function apply(): void {
  root.dataset.theme = is_dark() ? "dark" : "light";
  colours.clear();
  for (const listener of listeners) listener();
}

// Returns what ends it.
export function on_theme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function toggle_theme(): void {
  chosen = is_dark() ? "light" : "dark";
  try {
    localStorage.setItem(kept_as, chosen);
  } catch {
    // No storage here: the choice lasts as long as the page.
  }
  apply();
}

const colours = new Map<string, string>();
// A custom property of the style sheet, for canvases.
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(root).getPropertyValue(`--${name}`).trim();
    colours.set(name, value);
  }
  return value;
}

export function theme_switch(): HTMLElement {
  const button = h("button", { class: "quiet", on: { click: toggle_theme } });
  const label = () => {
    const other = is_dark() ? "Light" : "Dark";
    button.textContent = other;
    button.setAttribute("aria-label", `Switch to the ${other.toLowerCase()} theme`);
  };
  label();
  on_theme(label);
  return button;
}

// Paper is white.
export function print_light(): void {
  addEventListener("beforeprint", () => {
    printing = true;
    apply();
    dispatchEvent(new Event("tenure-draw-now"));
  });
  addEventListener("afterprint", () => {
    printing = false;
    apply();
  });
}

// Themes `element` and what is in it; the choice is kept under `key`. Returns what ends it.
export function start_theme(element: HTMLElement, key: string): () => void {
  root = element;
  kept_as = key;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    chosen = null;
  }
  system.addEventListener("change", apply);
  apply();
  return () => {
    system.removeEventListener("change", apply);
    listeners.clear();
  };
}
