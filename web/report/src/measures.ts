// What the charts share, so that their plots stand below one another.
export const kFont =
  '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';
export const kRight = 10; // room right of the plots

// Room left of the plots, for their axes.
export function gutter(width: number): number {
  return width < 560 ? 54 : 76;
}
