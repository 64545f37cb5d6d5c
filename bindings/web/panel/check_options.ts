// What a panel may be told, checked: a misspelt option would do nothing.
import { docks } from "./place.ts";
import type { PanelOptions } from "./open_panel.ts";

const is_flag = (value: unknown) => typeof value === "boolean";
const is_text = (value: unknown) => typeof value === "string" && value !== "";

const checks: Record<keyof PanelOptions, [(value: unknown) => boolean, string]> = {
  key: [(value) => value === null || is_text(value), 'one such as "Alt+Shift+M", or null'],
  button: [is_flag, "true or false"],
  open: [is_flag, "true or false"],
  dock: [(value) => docks.some((each) => each === value), `one of ${docks.join(", ")}`],
  fills_page: [is_flag, "true or false"],
  window_url: [is_text, "the URL of a page"],
  name: [is_text, "a text"],
};

const show = (value: unknown) =>
  value === null ? "null" : typeof value === "object" ? "an object" : String(value);

export function check_options(options: unknown): void {
  if (options === null || typeof options !== "object")
    throw new TypeError(`panel: expected options as an object, got: ${show(options)}`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, name) ? checks[name as keyof PanelOptions] : null;
    if (!check) {
      const known = Object.keys(checks).join(", ");
      throw new TypeError(`panel: no such option: ${name}; there are: ${known}`);
    }
    const [is_right, expected] = check;
    if (!is_right(value))
      throw new TypeError(`panel: ${name}: expected ${expected}, got: ${show(value)}`);
  }
}
