// The keys, and the box that lists them.
import { h } from "./dom.ts";
import { toggle_theme } from "./theme.ts";
import { hide_tip } from "./tip.ts";
import type { View } from "./view.ts";

const list: [string[], string][] = [
  [["Tab"], "from chart to chart, and to the buttons"],
  [["←", "→"], "move the cursor; with Shift by a tenth of the window"],
  [["↑", "↓"], "in bands and lives: another row"],
  [["+", "−"], "zoom in and out at the cursor"],
  [["0"], "show the whole run"],
  [["PgUp", "PgDn"], "move the window"],
  [["Enter"], "choose the moment, open a tensor's story, zoom to a band"],
  [["Esc"], "close a story, leave a box of the source view, clear the search"],
  [["/"], "search by name, operation, file, or finding 1"],
  [["p"], "back to the peak"],
  [["t"], "light or dark"],
  [["?"], "this list"],
];
const pointer: [string, string][] = [
  ["wheel", "zooms; with Shift it scrolls the lives"],
  ["drag", "chooses a range in the memory chart, moves the other charts"],
  ["click", "chooses a moment, opens a tensor's story"],
  ["double click", "shows the whole run"],
];

export class Keys {
  readonly dialog: HTMLDialogElement;

  constructor(private readonly view: View) {
    this.dialog = h(
      "dialog",
      { class: "keys", "aria-labelledby": "keys-title" },
      h("h2", { id: "keys-title" }, "Keys and pointer"),
      h(
        "dl",
        {},
        ...list.flatMap(([keys, text]) => [
          h("dt", {}, ...keys.map((key) => h("kbd", {}, key))),
          h("dd", {}, text),
        ]),
      ),
      h("dl", {}, ...pointer.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      h("button", { class: "quiet", on: { click: () => this.dialog.close() } }, "Close"),
    );
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    addEventListener("keydown", (event) => this.pressed(event));
  }

  open(): void {
    hide_tip();
    this.dialog.showModal();
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.dialog.open) return;
    const target = event.target as HTMLElement;
    if (event.key === "Escape") {
      hide_tip();
      if (this.view.tensor !== null) this.view.open(null);
      return;
    }
    if (target instanceof HTMLInputElement) return;
    if (event.key === "?") this.open();
    else if (event.key === "/") document.querySelector<HTMLInputElement>("#search")?.focus();
    else if (event.key === "t") toggle_theme();
    else if (event.key === "p") this.view.set_moment(this.view.levels.peak_time);
    else return;
    event.preventDefault();
  }
}
