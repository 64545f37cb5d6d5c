// The one element that the panel adds to a page, and the shadow root in it. The page's styles stop
// at it, and so do the keys and clicks that are meant for the panel.
import style from "./style.css";
import { h } from "../../../web/report/src/dom.ts";

const own_events = [
  "keydown",
  "keyup",
  "keypress",
  "beforeinput",
  "input",
  "change",
  "pointerdown",
  "mousedown",
  "touchstart",
  "click",
  "dblclick",
  "auxclick",
  "contextmenu",
  "wheel",
  "copy",
  "paste",
  "cut",
] as const;

export class Shell {
  readonly host = document.createElement("tenure-panel");
  readonly root: ShadowRoot;
  readonly panel = h("div", { class: "tenure-panel" }); // what is themed

  constructor() {
    this.root = this.host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    this.root.adoptedStyleSheets = [sheet];
    this.root.append(this.panel);
    for (const type of own_events)
      this.host.addEventListener(type, (event) => event.stopPropagation(), { passive: true });
  }

  get focused(): Element | null {
    return this.root.activeElement;
  }

  attach(): void {
    // Beside the body: a program that fills its body anew keeps the panel.
    document.documentElement.append(this.host);
    // Above all else, and out of reach of what the page does to its root: transforms, filters.
    this.host.popover = "manual";
    this.host.showPopover?.();
  }

  remove(): void {
    this.host.remove();
  }
}
