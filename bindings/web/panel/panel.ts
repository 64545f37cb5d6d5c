// The panel: hears samples for as long as it is open and not paused, asks for lines about once a
// second, and draws at most once a frame.
import { fill, h, say, speaker } from "../../../web/report/src/dom.ts";
import { is_dark, on_theme, start_theme, toggle_theme } from "../../../web/report/src/theme.ts";
import { IconButton } from "./button.ts";
import { Detail } from "./detail.ts";
import { History } from "./history.ts";
import { Hotkey } from "./hotkey.ts";
import { icon } from "./icons.ts";
import { LinesView } from "./lines_view.ts";
import { Marks } from "./marks.ts";
import { Memory } from "./memory.ts";
import type { PanelOptions } from "./open_panel.ts";
import { PagesBar } from "./pages_bar.ts";
import { Place, docks, measures_of } from "./place.ts";
import { Recorder } from "./recorder.ts";
import { Shell } from "./shell.ts";
import type { Line, RemoteSource, Sample, Source } from "./source.ts";
import { kTheme, recall, remember } from "./storage.ts";

const kLinesEvery = 1000; // ms
const kLow = 400; // pixels: of a column in which lines have no room below the chart
const kShareOfLines = 20; // a question that took long is asked again after so many times as long

const dock_names = { right: "Dock at the right", bottom: "Dock at the bottom", float: "Float" };
const dock_icons = { right: "dock_right", bottom: "dock_bottom", float: "float" } as const;

function has_pages(source: Source): source is RemoteSource {
  return "pages" in source;
}

export class Panel {
  private readonly shell = new Shell();
  private readonly frame = h("div", {
    class: "frame",
    role: "region",
    "aria-label": "Tenure memory panel",
    tabindex: -1,
  });
  private readonly launcher: HTMLButtonElement;
  private readonly place: Place;
  private readonly history = new History();
  private readonly memory: Memory;
  private readonly marks: Marks;
  private readonly lines_view: LinesView;
  private readonly detail: Detail;
  private readonly recorder: Recorder;
  private readonly pages: PagesBar | null;
  private readonly note = h("p", { class: "note", role: "alert" });
  private readonly pause: IconButton;
  private readonly hotkey: Hotkey | null;
  private readonly ends: (() => void)[] = [];
  private unsubscribe: (() => void) | null = null;
  private focus_before: HTMLElement | null = null;
  private is_open = false;
  private is_paused = false;
  private frame_due = 0;
  private lines: Line[] | null = null;
  private lines_due = false; // to be drawn
  private next_lines = 0; // when they may be asked for again
  private question = 0; // an answer to an older one is dropped
  private is_asking = false;

  constructor(
    private readonly source: Source,
    private readonly options: PanelOptions,
  ) {
    const now = () => this.history.last?.time_ms ?? 0;
    const kept = recall();
    this.hotkey = options.key === null ? null : new Hotkey(options.key ?? "Alt+Shift+M");
    this.marks = new Marks(source, now, () => this.since_changed());
    this.detail = new Detail(
      source,
      now,
      () => this.marks.since,
      () => this.close_detail(),
    );
    this.lines_view = new LinesView(this.marks.choice, (line) => this.open_detail(line));
    this.recorder = new Recorder(source, (text) => this.complain(text));
    this.pages = has_pages(source) ? new PagesBar(source.pages, () => this.start_anew()) : null;
    this.pause = new IconButton("Pause", "pause", () => this.toggle_pause());
    this.place = new Place(this.frame, measures_of({ dock: options.dock, ...kept }), () =>
      this.keep(),
    );
    const height = this.place.is_small ? 104 : 148;
    this.memory = new Memory(this.history, () => this.marks.lines, height);
    this.launcher = h(
      "button",
      {
        class: "launcher",
        type: "button",
        hidden: true,
        "aria-label": `Open the memory panel${this.hotkey ? ` (${this.hotkey.text})` : ""}`,
        title: `Memory panel${this.hotkey ? `: ${this.hotkey.text}` : ""}`,
        on: { click: () => this.open() },
      },
      icon("brand"),
    );
    fill(this.frame, this.place.edge, this.header(), this.pages?.note, this.note, this.body());
    this.shell.panel.append(this.launcher, this.frame, speaker());
    this.frame.hidden = true;
    this.shell.panel.classList.toggle("fills-page", options.fills_page ?? false);
    this.ends.push(start_theme(this.shell.panel, kTheme));
    this.listen();
    this.shell.attach();
    if (options.fills_page || (options.open ?? kept.open !== false)) this.open(false);
    else this.show_launcher();
  }

  // Opens it, and takes the focus there.
  open(with_focus = true): void {
    if (with_focus && !this.shell.focused) {
      const { activeElement } = document;
      this.focus_before = activeElement instanceof HTMLElement ? activeElement : null;
    }
    if (!this.is_open) {
      this.is_open = true;
      this.launcher.hidden = true;
      this.frame.hidden = false;
      this.place.apply();
      this.look();
      this.keep();
    }
    if (with_focus) this.frame.focus({ preventScroll: true });
  }

  destroy(): void {
    this.look_away();
    cancelAnimationFrame(this.frame_due);
    this.memory.destroy();
    this.place.destroy();
    this.pages?.destroy();
    for (const end of this.ends) end();
    if (this.shell.focused) this.give_focus_back();
    this.shell.remove();
  }

  private header(): HTMLElement {
    const { options } = this;
    const mark = new IconButton(
      "Mark: what is born from here on",
      "mark",
      () => void this.add_mark(),
    );
    const theme = new IconButton("", "dark", toggle_theme);
    const show_theme = () =>
      theme.show(
        is_dark() ? "Switch to the light theme" : "Switch to the dark theme",
        is_dark() ? "light" : "dark",
      );
    this.ends.push(on_theme(show_theme));
    show_theme();
    const dock = new IconButton("", "float", () => {
      this.place.set_dock(next_dock());
      show_dock();
    });
    const next_dock = () => docks[(docks.indexOf(this.place.measures.dock) + 1) % docks.length]!;
    const show_dock = () => dock.show(dock_names[next_dock()], dock_icons[next_dock()]);
    show_dock();
    dock.element.classList.add("dock");
    const { window_url } = options;
    const window_button = window_url
      ? new IconButton("Open in a window of its own", "window", () => {
          window.open(window_url, "tenure-panel", "popup,width=980,height=720");
        })
      : null;
    const close = new IconButton("Close the panel", "close", () => this.hide());
    return h(
      "header",
      { class: "head" },
      this.place.grip,
      this.pages ? this.pages.choice : h("span", { class: "title" }, "Tenure"),
      h("span", { class: "grow" }),
      h(
        "div",
        { class: "tools", role: "toolbar", "aria-label": "Panel" },
        this.pause.element,
        mark.element,
        this.recorder.button.element,
        h("span", { class: "rule", "aria-hidden": "true" }),
        window_button?.element,
        options.fills_page ? null : dock.element,
        theme.element,
        options.fills_page ? null : close.element,
      ),
    );
  }

  private body(): HTMLElement {
    const body = h(
      "div",
      { class: "body" },
      this.memory.element,
      this.lines_view.element,
      this.detail.element,
      h("p", { class: "hint" }, "Choose a line to see its tensors, and the story of each."),
    );
    const size = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      body.dataset.columns = width >= 1040 ? "3" : width >= 680 ? "2" : "1";
      body.classList.toggle("low", width < 680 && height < kLow);
    });
    size.observe(body);
    this.ends.push(() => size.disconnect());
    return body;
  }

  private listen(): void {
    const key = (event: KeyboardEvent) => {
      if (!this.hotkey?.matches(event)) return;
      event.preventDefault();
      event.stopPropagation();
      if (this.is_open && this.shell.focused) this.hide();
      else this.open();
    };
    addEventListener("keydown", key, { capture: true });
    this.ends.push(() => removeEventListener("keydown", key, { capture: true }));
    this.frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault();
        if (this.detail.is_open) this.close_detail();
        else this.hide();
      } else if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        this.lines_view.focus_filter();
      }
    });
  }

  private hide(): void {
    if (this.options.fills_page || !this.is_open) return;
    const had_focus = this.shell.focused !== null;
    this.is_open = false;
    this.frame.hidden = true;
    this.look_away();
    this.show_launcher();
    this.keep();
    if (had_focus) this.give_focus_back();
  }

  private show_launcher(): void {
    this.launcher.hidden = this.options.button === false;
  }

  private give_focus_back(): void {
    const before = this.focus_before;
    this.focus_before = null;
    if (before?.isConnected && before !== document.body) before.focus({ preventScroll: true });
    else if (!this.launcher.hidden) this.launcher.focus({ preventScroll: true });
  }

  private keep(): void {
    if (this.options.fills_page) return;
    remember({ ...this.place.measures, open: this.is_open });
  }

  // Samples

  private look(): void {
    if (this.unsubscribe || this.is_paused) return;
    this.history.interrupt();
    this.next_lines = 0;
    this.unsubscribe = this.source.subscribe((sample) => this.take(sample));
  }

  private look_away(): void {
    this.unsubscribe?.();
    this.unsubscribe = null;
  }

  private take(sample: Sample): void {
    this.history.push(sample);
    if (performance.now() >= this.next_lines && !this.is_asking) void this.ask_lines();
    this.draw_soon();
  }

  private async ask_lines(): Promise<void> {
    const question = ++this.question;
    const begin = performance.now();
    this.is_asking = true;
    try {
      const lines = await this.source.lines(this.marks.since);
      if (question !== this.question) return;
      this.lines = lines;
      this.lines_due = true;
      this.complain("");
      this.draw_soon();
    } catch (error) {
      if (question === this.question && this.unsubscribe)
        this.complain(`lines: ${(error as Error).message}`);
    } finally {
      if (question === this.question) {
        const end = performance.now();
        this.is_asking = false;
        this.next_lines = Math.max(begin + kLinesEvery, end + kShareOfLines * (end - begin));
      }
    }
  }

  private draw_soon(): void {
    if (!this.frame_due) this.frame_due = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame_due = 0;
    if (!this.is_open) return;
    this.memory.show();
    if (!this.lines_due || !this.lines) return;
    this.lines_due = false;
    this.lines_view.show(this.lines);
    this.detail.update(this.lines);
  }

  // What the user does

  private toggle_pause(): void {
    this.is_paused = !this.is_paused;
    if (this.is_paused) this.look_away();
    else this.look();
    this.pause.show(this.is_paused ? "Go on" : "Pause", this.is_paused ? "play" : "pause");
    this.frame.classList.toggle("paused", this.is_paused);
    say(this.is_paused ? "paused" : "going on");
  }

  private async add_mark(): Promise<void> {
    try {
      await this.marks.add();
    } catch (error) {
      this.complain(`mark: ${(error as Error).message}`);
    }
  }

  private since_changed(): void {
    this.drop_detail();
    this.lines_view.reset();
    this.draw_soon();
    void this.ask_lines();
  }

  private open_detail(line: Line): void {
    this.frame.classList.add("with-detail");
    this.lines_view.rows.take(line.key);
    this.detail.open(line);
    this.detail.focus();
  }

  private close_detail(): void {
    this.drop_detail();
    this.lines_view.rows.focus();
  }

  private drop_detail(): void {
    this.frame.classList.remove("with-detail");
    this.detail.close();
    this.lines_view.rows.take(null);
  }

  // Another page is looked at.
  private start_anew(): void {
    this.history.clear();
    this.marks.reset();
    this.recorder.reset();
    this.lines = null;
    this.lines_view.reset();
    this.drop_detail();
    this.next_lines = 0;
    this.is_asking = false;
    this.question++;
    this.complain("");
    this.draw_soon();
  }

  private complain(text: string): void {
    if (this.note.textContent !== text) this.note.textContent = text;
  }
}
