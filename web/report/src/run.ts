// The recorded run: src/report/run.h as typed arrays, and what follows from it once and for all.
import { Columns } from "./columns.ts";

export const kNone = 0xffffffff;

export const categories = [
  "parameter",
  "gradient",
  "optimizer state",
  "layer state",
  "saved for backward",
  "workspace",
  "other",
] as const;
export const kOther = 6;
const kFreed = categories.length;

export const problems = ["growth", "outlived", "pinned", "misused"] as const;

export interface Finding {
  problem: number;
  title: string;
  remedy: string;
  site: number;
  bytes: number;
  count: number;
  tensors: Uint32Array; // all that it is about
}

export interface Site {
  file: string; // whole path
  base: string; // without its folders
  line: number;
  function: string; // as the compiler writes it
  brief: string; // without its types
}

// void net::train(const Data&)::<lambda(int)> is net::train, lambda.
export function brief_function(text: string): string {
  let brief = text
    .replace(/ \[with .*?\](?=::|$)/g, "")
    .replace(/(\(anonymous namespace\)|\(anonymous\)|\{anonymous\})::/g, "")
    .replace(/operator\(\)/g, "operator\u0001")
    .replace(/<lambda\(.*?\)>/g, "<lambda>");
  for (let before = ""; before !== brief;) {
    before = brief;
    brief = brief.replace(/\([^()]*\)/g, "");
  }
  brief = brief.replace(/( const| noexcept| mutable)+(?=::|$)/g, "").trim();
  // The return type ends at the last space outside of a template's arguments.
  let depth = 0;
  let begin = 0;
  for (let i = 0; i < brief.length; ++i) {
    if (brief[i] === "<") ++depth;
    else if (brief[i] === ">") --depth;
    else if (brief[i] === " " && depth === 0) begin = i + 1;
  }
  return (
    brief
      .slice(begin)
      .replace(/::<lambda>/g, ", lambda")
      .replace("\u0001", "()") || text
  );
}

function read_tensors(columns: Columns) {
  const born = columns.numbers("tensor.born");
  const lived = columns.numbers("tensor.lived");
  return {
    count: born.length,
    id: columns.numbers("tensor.id"),
    name: columns.indices("tensor.name"),
    op: columns.indices("tensor.op"),
    dtype: columns.indices("tensor.dtype"),
    shape: columns.indices("tensor.shape"),
    owner: columns.indices("tensor.owner"),
    birth_site: columns.indices("tensor.birth_site"),
    storage: columns.indices("tensor.storage"),
    scope: columns.indices("tensor.scope"),
    thread: columns.indices("tensor.thread"),
    nbytes: columns.numbers("tensor.nbytes"),
    born,
    // Infinity: it was alive when the recording ended.
    died: lived.map((time, i) => (time < 0 ? Infinity : born[i]! + time)),
    cause: columns.indices("tensor.cause"),
    death_site: columns.indices("tensor.death_site"),
    death_by: columns.indices("tensor.death_by"),
    flags: columns.indices("tensor.flags"),
  };
}
export const kView = 1;
export const kReused = 2;
export const kBefore = 4;

function read_spans(columns: Columns) {
  const begin = columns.numbers("span.begin");
  const parent = columns.indices("span.parent");
  const depth = new Uint32Array(begin.length);
  for (let i = 0; i < depth.length; ++i) {
    if (parent[i]! < i) depth[i] = depth[parent[i]!]! + 1;
  }
  return {
    count: begin.length,
    kind: columns.indices("span.kind"),
    name: columns.indices("span.name"),
    site: columns.indices("span.site"),
    thread: columns.indices("span.thread"),
    begin,
    end: columns.numbers("span.took").map((time, i) => (time < 0 ? Infinity : begin[i]! + time)),
    parent,
    depth,
  };
}

function read_ops(columns: Columns) {
  const begin = columns.numbers("op.begin");
  return {
    count: begin.length,
    op: columns.indices("op.op"),
    site: columns.indices("op.site"),
    thread: columns.indices("op.thread"),
    begin,
    took: columns.numbers("op.took"),
    bytes: columns.numbers("op.bytes"),
  };
}

function read_storages(columns: Columns) {
  const nbytes = columns.numbers("storage.nbytes");
  return {
    count: nbytes.length,
    nbytes,
    slack: columns.numbers("storage.slack"),
    site: columns.indices("storage.site"),
    op: columns.indices("storage.op"),
    born: new Float64Array(nbytes.length),
    freed: new Float64Array(nbytes.length).fill(Infinity),
    category: new Uint8Array(nbytes.length).fill(kOther), // the first it had
  };
}

export class Run {
  readonly program: string;
  readonly version: string;
  readonly started: Date;
  readonly length: number;
  readonly events: number;
  readonly cut_short: boolean;
  readonly budget: number;
  readonly strings: string[];
  readonly sites: Site[];
  readonly tensors: ReturnType<typeof read_tensors>;
  readonly storages: ReturnType<typeof read_storages>;
  readonly spans: ReturnType<typeof read_spans>;
  readonly ops: ReturnType<typeof read_ops>;
  // What happened to memory, in order of time; `to` is a category, or `freed`.
  readonly changes: { time: Float64Array; storage: Uint32Array; to: Uint32Array; freed: number };
  readonly pool: { time: Float64Array; reserved: Float64Array };
  readonly values: {
    name: Uint32Array;
    time: Float64Array;
    step: Float64Array;
    value: Float64Array;
  };
  readonly raised: {
    time: Float64Array;
    text: Uint32Array;
    site: Uint32Array;
    tensor: Float64Array;
  };
  readonly findings: Finding[];

  // The tensors over storage s: on_storage[first_on[s]] up to on_storage[first_on[s + 1]].
  private readonly first_on: Uint32Array;
  private readonly on_storage: Uint32Array;
  private by_id: Map<number, number> | undefined;

  constructor(columns: Columns) {
    const [started, length, events, cut_short, budget] = columns.numbers("meta");
    [this.program, this.version] = columns.texts("about") as [string, string];
    this.started = new Date(started!);
    this.length = Math.max(1, length!);
    this.events = events!;
    this.cut_short = cut_short !== 0;
    this.budget = budget!;
    this.strings = columns.texts("text");
    this.sites = this.read_sites(columns);
    this.tensors = read_tensors(columns);
    this.storages = read_storages(columns);
    this.spans = read_spans(columns);
    this.ops = read_ops(columns);
    this.changes = {
      time: columns.numbers("change.time"),
      storage: columns.indices("change.storage"),
      to: columns.indices("change.to"),
      freed: kFreed,
    };
    this.pool = {
      time: columns.numbers("pool.time"),
      reserved: columns.numbers("pool.reserved"),
    };
    this.values = {
      name: columns.indices("value.name"),
      time: columns.numbers("value.time"),
      step: columns.numbers("value.step"),
      value: columns.numbers("value.value"),
    };
    this.raised = {
      time: columns.numbers("raised.time"),
      text: columns.indices("raised.text"),
      site: columns.indices("raised.site"),
      tensor: columns.numbers("raised.tensor"),
    };
    this.findings = read_findings(columns);
    this.date_storages();

    const { count, storage } = this.tensors;
    this.first_on = new Uint32Array(this.storages.count + 2);
    for (let i = 0; i < count; ++i) if (storage[i] !== kNone) ++this.first_on[storage[i]! + 2]!;
    for (let s = 2; s < this.first_on.length; ++s) this.first_on[s]! += this.first_on[s - 1]!;
    this.on_storage = new Uint32Array(this.first_on[this.first_on.length - 1]!);
    for (let i = 0; i < count; ++i) {
      if (storage[i] !== kNone) this.on_storage[this.first_on[storage[i]! + 1]!++] = i;
    }
  }

  private read_sites(columns: Columns): Site[] {
    const lines = columns.indices("site.line");
    const functions = columns.indices("site.function");
    return Array.from(columns.indices("site.file"), (file, i) => ({
      file: this.text(file),
      base: this.text(file).split(/[/\\]/).pop() ?? "",
      line: lines[i]!,
      function: this.text(functions[i]!),
      brief: brief_function(this.text(functions[i]!)),
    }));
  }

  private date_storages(): void {
    const { time, storage, to } = this.changes;
    const { born, freed, category } = this.storages;
    const seen = new Uint8Array(this.storages.count);
    for (let i = 0; i < time.length; ++i) {
      const s = storage[i]!;
      if (to[i] === kFreed) {
        freed[s] = time[i]!;
      } else if (!seen[s]) {
        seen[s] = 1;
        born[s] = time[i]!;
        category[s] = to[i]!;
      }
    }
  }

  text(index: number): string {
    return this.strings[index] ?? "";
  }

  site_text(index: number): string {
    const site = this.sites[index];
    return site ? `${site.base}:${site.line}` : "";
  }

  tensors_on(storage: number): Uint32Array {
    if (storage === kNone) return new Uint32Array(0);
    return this.on_storage.subarray(this.first_on[storage]!, this.first_on[storage + 1]!);
  }

  tensor_with_id(id: number): number | undefined {
    if (!this.by_id) {
      this.by_id = new Map();
      for (let i = 0; i < this.tensors.count; ++i) {
        if (!this.tensors.owner[i]) this.by_id.set(this.tensors.id[i]!, i);
      }
    }
    return this.by_id.get(id);
  }

  // What a tensor is called: its name, its owner where it is a saved value, or what made it.
  label(tensor: number): string {
    const { name, op, owner } = this.tensors;
    const text = this.text(name[tensor]! || op[tensor]!) || `#${this.tensors.id[tensor]}`;
    if (!owner[tensor]) return text;
    const holder = this.text(owner[tensor]!);
    // One owner, one value: its name says it all. A tape saves many.
    const alone = /^(variable|optimizer|layer|metric) /.test(holder) && !name[tensor];
    return alone || holder.includes(text) ? holder : `${holder}: ${text}`;
  }

  span_label(span: number): string {
    const name = this.text(this.spans.name[span]!);
    const kind = this.text(this.spans.kind[span]!);
    return name ? `${kind} "${name}"` : kind;
  }

  // The one to show for a storage at a moment: a tensor before a saved value, a named one first.
  face_of(storage: number, time: number): number | undefined {
    let best: number | undefined;
    let best_rank = -1;
    for (const tensor of this.tensors_on(storage)) {
      const { born, died, name, owner } = this.tensors;
      const lives = born[tensor]! <= time && time < died[tensor]!;
      const rank = (lives ? 4 : 0) + (owner[tensor] ? 0 : 2) + (name[tensor] ? 1 : 0);
      if (rank > best_rank) {
        best = tensor;
        best_rank = rank;
      }
    }
    return best;
  }
}

function read_findings(columns: Columns): Finding[] {
  const titles = columns.texts("finding.title");
  const remedies = columns.texts("finding.remedy");
  const sites = columns.indices("finding.site");
  const bytes = columns.numbers("finding.bytes");
  const counts = columns.numbers("finding.count");
  const lengths = columns.indices("finding.tensors");
  const tensors = columns.indices("finding.tensor");
  let at = 0;
  return Array.from(columns.indices("finding.problem"), (problem, i) => ({
    problem,
    title: titles[i]!,
    remedy: remedies[i]!,
    site: sites[i]!,
    bytes: bytes[i]!,
    count: counts[i]!,
    tensors: tensors.subarray(at, (at += lengths[i]!)),
  }));
}
