// The panel in a page, or as a page of its own:
//
//   const panel = open_panel(source);               // beside the program
//   open_panel(remote_source(), {fills_page: true}) // in another window of the same origin
import { check_options } from "./check_options.ts";
import { Panel } from "./panel.ts";
import { serve_source } from "./serve_source.ts";
import type { Dock } from "./place.ts";
import type { Source } from "./source.ts";

export { remote_source } from "./remote_source.ts";
export { serve_source } from "./serve_source.ts";
export type * from "./source.ts";

export interface PanelOptions {
  key?: string | null; // opens and closes it; "Alt+Shift+M" unless said otherwise, null for none
  button?: boolean; // a small button stays when it is closed: true
  open?: boolean; // from the start; unless said, as the user left it
  dock?: Dock; // at first: "right"
  fills_page?: boolean; // it is all there is on this page
  window_url?: string; // of a page that shows this panel in a window of its own
  name?: string; // of this page there: its title
}

let panel: Panel | null = null;
let handle: { close(): void } | null = null;

// One panel a page: while one is open, it gets the focus.
export function open_panel(source: Source, options: PanelOptions = {}): { close(): void } {
  check_options(options);
  if (panel && handle) {
    panel.open();
    return handle;
  }
  const opened = new Panel(source, options);
  const served = options.window_url ? serve_source(source, { name: options.name }) : null;
  panel = opened;
  return (handle = {
    close() {
      if (panel !== opened) return;
      panel = handle = null;
      served?.close();
      opened.destroy();
    },
  });
}
