// A canvas across the page with the shared axis of time, sharp at any pixel density, and the ways
// to move about in it by wheel, pointer and keyboard.
import { h, say } from "./dom.ts";
import { moment } from "./format.ts";
import { gutter, kFont, kRight } from "./measures.ts";
import { colour, on_theme } from "./theme.ts";
import { hide_tip } from "./tip.ts";
import type { View } from "./view.ts";

// A wheel that was turning the page goes on doing so when a chart slides under the pointer.
let last_page_wheel = -Infinity;
addEventListener(
  "wheel",
  (event) => {
    if (!(event.target instanceof Element && event.target.closest(".plot"))) {
      last_page_wheel = event.timeStamp;
    }
  },
  { passive: true, capture: true },
);

export interface Options {
  label: string;
  keys: string; // what the keys do here, for the screen reader
  drag: "select" | "pan";
  height: number;
}

export abstract class Panel {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  protected readonly g: CanvasRenderingContext2D;
  private readonly picture = h("canvas");
  private taken = false; // the picture is what draw() would make
  protected width = 0;
  protected height: number;
  protected hovered = false;
  protected marks_top = 0; // where the cursor's line begins
  protected selecting: [number, number] | null = null;
  private drag: { x: number; y: number; t0: number; moved: boolean } | null = null;

  constructor(
    protected readonly view: View,
    private readonly options: Options,
  ) {
    this.height = options.height;
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `${options.label}. ${options.keys}`,
    });
    this.g = this.canvas.getContext("2d")!;
    this.element = h("div", { class: "plot" }, this.canvas);
    new ResizeObserver(() => this.fit()).observe(this.element);
    view.on(["window", "filter"], this.redraw);
    view.on(["cursor", "moment"], this.remark);
    on_theme(() => view.later(this.redraw));
    this.listen();
  }

  protected readonly redraw = (): void => {
    if (!this.width) return;
    this.clear();
    this.draw();
    this.taken = false;
    this.draw_marks();
    this.draw_over();
  };

  // A cursor that moves leaves the picture as it is: the first move takes it, the others show it.
  private readonly remark = (): void => {
    if (!this.width) return;
    this.clear();
    if (this.taken) {
      this.g.drawImage(this.picture, 0, 0, this.width, this.height);
    } else {
      this.draw();
      this.picture.width = this.canvas.width;
      this.picture.height = this.canvas.height;
      this.picture.getContext("2d")!.drawImage(this.canvas, 0, 0);
      this.taken = true;
    }
    this.draw_marks();
    this.draw_over();
  };

  private clear(): void {
    const ratio = devicePixelRatio || 1;
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.g.clearRect(0, 0, this.width, this.height);
  }

  protected abstract draw(): void;
  protected draw_over(): void {} // above the cursor
  // The pointer is over the plot, or the keyboard's cursor moved.
  protected hover(_time: number, _x: number, _y: number, _client: { x: number; y: number }): void {}
  protected press(_time: number, _x: number, _y: number): void {}
  // True when the key was for the panel.
  protected key(_event: KeyboardEvent): boolean {
    return false;
  }
  protected pan_rows(_by: number): void {}
  protected leave(): void {}

  protected set_height(height: number): void {
    if (height === this.height) return;
    this.height = height;
    this.fit();
  }

  private fit(): void {
    const width = this.element.clientWidth;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.redraw();
  }

  protected get left(): number {
    return gutter(this.width);
  }
  protected get right(): number {
    return this.width - kRight;
  }
  protected x(time: number): number {
    return this.left + ((time - this.view.t0) / this.view.span) * (this.right - this.left);
  }
  protected time(x: number): number {
    return this.view.t0 + ((x - this.left) / (this.right - this.left)) * this.view.span;
  }

  protected font(size: number, weight = 400): void {
    this.g.font = `${weight} ${size}px ${kFont}`;
  }

  // Text that ends in an ellipsis where it does not fit.
  protected fit_text(text: string, width: number): string {
    if (this.g.measureText(text).width <= width) return text;
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.g.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    return low > 3 ? `${text.slice(0, low)}…` : ""; // fewer letters tell nothing
  }

  protected vertical(time: number, style: string, dash: number[], width = 1): void {
    const x = Math.round(this.x(time)) + 0.5;
    if (x < this.left || x > this.right + 1) return;
    const { g } = this;
    g.save();
    g.strokeStyle = style;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x, this.marks_top);
    g.lineTo(x, this.height);
    g.stroke();
    g.restore();
  }

  private draw_marks(): void {
    const { view, g } = this;
    this.vertical(view.moment, colour("ink"), [3, 3]);
    if (view.cursor !== null) this.vertical(view.cursor, colour("accent"), []);
    if (this.selecting) {
      const [a, b] = this.selecting;
      g.fillStyle = colour("select");
      g.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.height);
    }
  }

  private listen(): void {
    const { canvas, view } = this;
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.timeStamp - last_page_wheel < 250 && !event.ctrlKey) {
          last_page_wheel = event.timeStamp;
          return;
        }
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (event.shiftKey) {
          this.pan_rows((event.deltaY || event.deltaX) * unit);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          view.pan((event.deltaX * unit * view.span) / (this.right - this.left));
        } else {
          const around = this.time(Math.max(this.left, Math.min(event.offsetX, this.right)));
          view.zoom(Math.exp(event.deltaY * unit * 0.002), around);
        }
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.drag = { x: event.offsetX, y: event.offsetY, t0: view.t0, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => this.released(event));
    canvas.addEventListener("pointercancel", () => {
      this.drag = null;
      this.selecting = null;
      this.redraw();
    });
    canvas.addEventListener("pointerleave", () => {
      this.hovered = false;
      hide_tip();
      this.leave();
      if (!this.drag) view.set_cursor(null);
    });
    canvas.addEventListener("blur", () => hide_tip());
    canvas.addEventListener("dblclick", () => view.reset());
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event) || this.navigate(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  private moved(event: PointerEvent): void {
    const { view, drag } = this;
    const x = Math.max(this.left, Math.min(event.offsetX, this.right));
    this.hovered = true;
    if (
      drag &&
      (drag.moved || Math.abs(event.offsetX - drag.x) > 4 || Math.abs(event.offsetY - drag.y) > 4)
    ) {
      drag.moved = true;
      hide_tip();
      if (this.options.drag === "select" && !event.shiftKey) {
        this.selecting = [Math.max(this.left, Math.min(drag.x, this.right)), x];
        view.later(this.redraw);
      } else {
        const by = ((drag.x - event.offsetX) * view.span) / (this.right - this.left);
        view.show(drag.t0 + by, drag.t0 + by + view.span);
        this.pan_rows(drag.y - event.offsetY);
        drag.y = event.offsetY;
      }
      return;
    }
    const time = this.time(x);
    view.set_cursor(time);
    const client = { x: event.clientX, y: event.clientY };
    const y = event.offsetY;
    view.later(() => this.hovered && this.hover(time, x, y, client));
  }

  private released(event: PointerEvent): void {
    const { drag, selecting } = this;
    this.drag = null;
    this.selecting = null;
    if (!drag) return;
    if (selecting) {
      const [a, b] = selecting;
      if (Math.abs(b - a) > 4) this.view.show(this.time(Math.min(a, b)), this.time(Math.max(a, b)));
      this.redraw();
    } else if (!drag.moved && event.offsetX >= this.left - 4) {
      this.press(this.time(event.offsetX), event.offsetX, event.offsetY);
    }
  }

  // The keys every chart has.
  private navigate(event: KeyboardEvent): boolean {
    const { view } = this;
    const step = view.span / (event.shiftKey ? 10 : 100);
    const around =
      view.cursor !== null && view.cursor >= view.t0 && view.cursor <= view.t1
        ? view.cursor
        : (view.t0 + view.t1) / 2;
    switch (event.key) {
      case "ArrowLeft":
        this.cursor_moved(view.move_cursor(-step));
        return true;
      case "ArrowRight":
        this.cursor_moved(view.move_cursor(step));
        return true;
      case "Home":
        this.cursor_moved(view.move_cursor(-view.run.length));
        return true;
      case "End":
        this.cursor_moved(view.move_cursor(view.run.length));
        return true;
      case "PageUp":
        view.pan(-view.span / 2);
        return true;
      case "PageDown":
        view.pan(view.span / 2);
        return true;
      case "+":
      case "=":
        view.zoom(1 / 1.5, around);
        this.say_window();
        return true;
      case "-":
      case "_":
        view.zoom(1.5, around);
        this.say_window();
        return true;
      case "0":
        view.reset();
        this.say_window();
        return true;
      case "Enter":
      case " ":
        if (view.cursor === null) return false;
        this.press(view.cursor, this.x(view.cursor), this.height / 2);
        return true;
      default:
        return false;
    }
  }

  private say_window(): void {
    const { view } = this;
    say(`showing ${moment(view.t0, view.span)} to ${moment(view.t1, view.span)}`);
  }

  private cursor_moved(time: number): void {
    const box = this.canvas.getBoundingClientRect();
    const x = this.x(time);
    this.hover(time, x, -1, { x: box.left + x, y: box.top + Math.min(60, this.height / 2) });
  }
}
