// The whole run in a strip, with the window that the charts show: drag it, or drag a new one.
import { Panel } from "./panel.ts";
import { colour } from "./theme.ts";
import type { View } from "./view.ts";

const kHeight = 34;

export class Overview extends Panel {
  private slices: Int32Array = new Int32Array(0); // the same at every zoom
  private grip: { kind: "left" | "right" | "window"; from: number; t0: number; t1: number } | null =
    null;

  constructor(view: View) {
    super(view, {
      label: "Overview of the whole run",
      keys: "Arrows move the cursor, plus and minus zoom the charts, Page Up and Page Down move the window.",
      drag: "select",
      height: kHeight,
    });
    this.canvas.classList.add("overview");
    // Before the panel's own handlers: here a drag moves the window.
    this.canvas.addEventListener("pointerdown", (event) => this.take(event), { capture: true });
    this.canvas.addEventListener("pointermove", (event) => this.move(event), { capture: true });
    this.canvas.addEventListener("pointerup", () => (this.grip = null), { capture: true });
  }

  // Its own axis: always the whole run.
  protected override x(time: number): number {
    return this.left + (time / this.view.run.length) * (this.right - this.left);
  }
  protected override time(x: number): number {
    return ((x - this.left) / (this.right - this.left)) * this.view.run.length;
  }

  protected draw(): void {
    const { g, view } = this;
    const columns = Math.max(1, Math.round(this.right - this.left));
    if (this.slices.length !== columns) {
      this.slices = view.levels.slices(0, view.run.length, columns);
    }
    const { slices } = this;
    const top = view.levels.peak_bytes || 1;
    g.fillStyle = colour("strip");
    g.beginPath();
    g.moveTo(this.left, kHeight);
    for (let i = 0; i < columns; ++i) {
      const y = kHeight - 1 - ((view.levels.total[slices[i]!] ?? 0) / top) * (kHeight - 5);
      g.lineTo(this.left + i, y);
      g.lineTo(this.left + i + 1, y);
    }
    g.lineTo(this.right, kHeight);
    g.closePath();
    g.fill();
    const a = this.x(view.t0);
    const b = this.x(view.t1);
    if (!view.whole) {
      g.fillStyle = colour("veil");
      g.fillRect(this.left, 0, a - this.left, kHeight);
      g.fillRect(b, 0, this.right - b, kHeight);
    }
    g.strokeStyle = colour(view.whole ? "line" : "accent");
    g.lineWidth = 1;
    g.strokeRect(Math.round(a) + 0.5, 0.5, Math.max(2, Math.round(b - a) - 1), kHeight - 1);
  }

  private take(event: PointerEvent): void {
    const { view } = this;
    const a = this.x(view.t0);
    const b = this.x(view.t1);
    const x = event.offsetX;
    const grip = { from: x, t0: view.t0, t1: view.t1 };
    if (view.whole) return;
    if (Math.abs(x - a) < 6) this.grip = { kind: "left", ...grip };
    else if (Math.abs(x - b) < 6) this.grip = { kind: "right", ...grip };
    else if (x > a && x < b) this.grip = { kind: "window", ...grip };
  }

  private move(event: PointerEvent): void {
    const { grip, view } = this;
    if (!grip) return;
    event.stopImmediatePropagation();
    const by = ((event.offsetX - grip.from) / (this.right - this.left)) * view.run.length;
    if (grip.kind === "window") view.show(grip.t0 + by, grip.t1 + by);
    else if (grip.kind === "left") view.show(Math.min(grip.t0 + by, grip.t1 - 100), grip.t1);
    else view.show(grip.t0, Math.max(grip.t1 + by, grip.t0 + 100));
  }

  protected override press(time: number): void {
    this.view.show(time - this.view.span / 2, time + this.view.span / 2);
  }
}
