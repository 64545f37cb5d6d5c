// A key with its modifiers, such as Alt+Shift+M. Letters are known by their place on the keyboard:
// with Alt some systems type another character.
const modifiers = ["alt", "control", "meta", "shift"] as const;
type Modifier = (typeof modifiers)[number];

export class Hotkey {
  private readonly held: Set<Modifier>;
  private readonly key: string;

  constructor(readonly text: string) {
    const parts = text.split("+").map((part) => part.trim().toLowerCase());
    this.key = parts.pop() ?? "";
    this.held = new Set(parts.map((part) => (part === "ctrl" ? "control" : part) as Modifier));
    if (!this.key || [...this.held].some((part) => !modifiers.includes(part)))
      throw new TypeError(`panel: key: expected one such as "Alt+Shift+M", got: ${text}`);
  }

  matches(event: KeyboardEvent): boolean {
    const pressed = {
      alt: event.altKey,
      control: event.ctrlKey,
      meta: event.metaKey,
      shift: event.shiftKey,
    };
    return (
      modifiers.every((each) => pressed[each] === this.held.has(each)) &&
      (event.key.toLowerCase() === this.key ||
        event.code.toLowerCase() === `key${this.key}` ||
        event.code.toLowerCase() === `digit${this.key}`)
    );
  }
}
