// Starts a recording, ends it, and hands the file over as a download.
import { say } from "../../../web/report/src/dom.ts";
import { IconButton } from "./button.ts";
import type { Source } from "./source.ts";

const kStart = "Record, for tenure report";
const kStop = "Stop and download the recording";

function file_name(): string {
  const name = (document.title || location.hostname || "page").replace(/[^\p{L}\p{N}]+/gu, "-");
  const time = new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-");
  return `${name.replace(/^-|-$/g, "") || "page"}-${time}.tenure`;
}

function download(blob: Blob): void {
  const link = document.createElement("a"); // in no document: no listener of the page's hears of it
  link.href = URL.createObjectURL(blob);
  link.download = file_name();
  link.click();
  // The browser may read it after this turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export class Recorder {
  readonly button = new IconButton(kStart, "record", () => void this.toggle());
  private is_on = false;
  private is_busy = false;

  constructor(
    private readonly source: Source,
    private readonly failed: (text: string) => void,
  ) {}

  // The program that was recorded is gone.
  reset(): void {
    this.is_on = false;
    this.show();
  }

  private async toggle(): Promise<void> {
    if (this.is_busy) return;
    this.is_busy = true;
    try {
      const blob = await this.source.record(!this.is_on);
      this.is_on = !this.is_on;
      if (blob) download(blob);
      say(this.is_on ? "recording" : "recording downloaded");
    } catch (error) {
      this.failed(`record: ${(error as Error).message}`);
    } finally {
      this.is_busy = false;
      this.show();
    }
  }

  private show(): void {
    this.button.show(this.is_on ? kStop : kStart, this.is_on ? "stop" : "record");
    this.button.element.classList.toggle("recording", this.is_on);
  }
}
