// What the panel remembers from one load of the page to the next, where the browser lets it.
export const kTheme = "tenure-panel-theme";
const kState = "tenure-panel";

export function recall(): Record<string, unknown> {
  try {
    const state: unknown = JSON.parse(localStorage.getItem(kState) ?? "{}");
    return typeof state === "object" && state !== null ? (state as Record<string, unknown>) : {};
  } catch {
    return {}; // no storage, or not ours
  }
}

export function remember(state: object): void {
  try {
    localStorage.setItem(kState, JSON.stringify(state));
  } catch {
    // It is forgotten with the page.
  }
}
