// The panel in a window of its own.
import { open_panel, remote_source } from "../panel/open_panel.ts";

open_panel(remote_source(), { fills_page: true });
