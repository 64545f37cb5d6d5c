// Light or dark: as the system has it, until the switch says otherwise; what it says is kept.
import { h } from "./dom.ts";

const kKey = "tenure-report-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: string | null = null;
let printing = false;

try {
  chosen = localStorage.getItem(kKey);
} catch {
  // No storage for files in this browser: the choice lasts as long as the page.
}

export function is_dark(): boolean {
  if (printing) return false;
  return chosen ? chosen === "dark" : system.matches;
}

function apply(): void {
  document.documentElement.dataset.theme = is_dark() ? "dark" : "light";
  colours.clear();
  for (const listener of listeners) listener();
}

export function on_theme(listener: () => void): void {
  listeners.push(listener);
}

export function toggle_theme(): void {
  chosen = is_dark() ? "light" : "dark";
  try {
    localStorage.setItem(kKey, chosen);
  } catch {
    // As above.
  }
  apply();
}

const colours = new Map<string, string>();
// A custom property of the style sheet, for canvases.
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
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

export function start_theme(): void {
  system.addEventListener("change", apply);
  // Paper is white.
  addEventListener("beforeprint", () => {
    printing = true;
    apply();
    dispatchEvent(new Event("tenure-draw-now"));
  });
  addEventListener("afterprint", () => {
    printing = false;
    apply();
  });
  apply();
}
