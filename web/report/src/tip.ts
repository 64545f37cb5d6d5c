// The one box that follows the pointer.
import { fill, h } from "./dom.ts";

const tip = h("div", { class: "tip", role: "tooltip", hidden: true });

export function tip_element(): HTMLElement {
  return tip;
}

export function hide_tip(): void {
  tip.hidden = true;
}

export function show_tip(
  client: { x: number; y: number },
  ...children: (Node | string | null)[]
): void {
  fill(tip, ...children);
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const gap = 16;
  let x = client.x + gap;
  if (x + width > innerWidth - 8) x = client.x - gap - width;
  let y = client.y + gap;
  if (y + height > innerHeight - 8) y = innerHeight - 8 - height;
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}

export function swatch(colour: string): HTMLElement {
  return h("span", { class: "swatch", "aria-hidden": "true", style: { background: colour } });
}
