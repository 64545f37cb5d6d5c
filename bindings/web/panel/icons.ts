// Pictures on buttons, 16 by 16, drawn with the colour of the text.
const paths = {
  pause: "M5 3v10M11 3v10",
  play: "M5 3l8 5-8 5z",
  mark: "M4 14V2.5h8l-2.2 3L12 8.5H4",
  record: "M8 3.5a4.5 4.5 0 1 0 .01 0z",
  stop: "M4 4h8v8H4z",
  window: "M9 2.5h4.5V7M13.5 2.5L8 8M7 3.5H3.5a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1V9",
  dock_right: "M2.5 3h11v10h-11zM9.5 3v10",
  dock_bottom: "M2.5 3h11v10h-11zM2.5 9h11",
  float: "M2.5 3h8v7h-8zM13.5 6v7h-8",
  dark: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  light:
    "M8 5.5a2.5 2.5 0 1 0 .01 0zM8 1.5v1.300M8 13.200v1.300M1.5 8h1.300M13.200 8h1.300M3.400 3.400l.9.9M11.700 11.700l.9.9M3.400 12.600l.9-.9M11.700 4.300l.9-.9",
  close: "M4 4l8 8M12 4l-8 8",
  back: "M10 3L5 8l5 5",
  copy: "M6 5.5h7.5v8H6zM10 5.5v-3H2.5v8H6",
  brand: "M2.5 8.5h2.200l1.600-5 3 9 1.700-4h2.5",
  grip: "M13.5 7.5l-6 6M13.5 11.5l-2 2",
} as const;

export type IconName = keyof typeof paths;

export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}
