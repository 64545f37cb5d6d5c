// A button with a picture; its name is what a screen reader says and a pointer that rests shows.
import { fill, h } from "../../../web/report/src/dom.ts";
import { type IconName, icon } from "./icons.ts";

export class IconButton {
  readonly element: HTMLButtonElement;

  constructor(name: string, picture: IconName, on_press: () => void) {
    this.element = h("button", { class: "tool", type: "button", on: { click: on_press } });
    this.show(name, picture);
  }

  show(name: string, picture: IconName): void {
    if (this.element.title === name) return;
    this.element.title = name;
    this.element.setAttribute("aria-label", name);
    fill(this.element, icon(picture));
  }
}
