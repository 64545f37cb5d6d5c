// Reads the columns that src/report/columns.h writes: deflated, in base64.

const kBytes = 0;
const kWhole = 1;

interface Column {
  kind: number;
  count: number;
  bytes: Uint8Array;
}

function from_base64(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; ++i) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Columns {
  private readonly columns = new Map<string, Column>();

  private constructor(bytes: Uint8Array) {
    const decoder = new TextDecoder();
    let at = 0;
    const varint = (): number => {
      let value = 0;
      let scale = 1;
      for (;;) {
        const byte = bytes[at++]!;
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
        scale *= 128;
      }
    };
    while (at < bytes.length) {
      const length = bytes[at++]!;
      const name = decoder.decode(bytes.subarray(at, at + length));
      at += length;
      const kind = bytes[at++]!;
      const count = varint();
      const size = varint();
      this.columns.set(name, { kind, count, bytes: bytes.subarray(at, at + size) });
      at += size;
    }
  }

  static async read(base64: string): Promise<Columns> {
    return new Columns(await inflate(from_base64(base64.trim())));
  }

  private column(name: string): Column {
    const column = this.columns.get(name);
    if (!column) throw new Error(`the recording has no column ${name}`);
    return column;
  }

  // Indices: -1, which stands for none, becomes 0xffffffff.
  indices(name: string): Uint32Array {
    const { count, bytes } = this.column(name);
    const out = new Uint32Array(count);
    decode(bytes, out);
    return out;
  }

  // Times, bytes, ids: exact up to 2^53.
  numbers(name: string): Float64Array {
    const column = this.column(name);
    const out = new Float64Array(column.count);
    if (column.kind === kWhole) {
      decode(column.bytes, out);
    } else {
      const view = new DataView(column.bytes.buffer, column.bytes.byteOffset);
      for (let i = 0; i < out.length; ++i) out[i] = view.getFloat64(8 * i, true);
    }
    return out;
  }

  texts(name: string): string[] {
    const { kind, bytes } = this.column(name);
    if (kind !== kBytes) throw new Error(`column ${name} holds no text`);
    const decoder = new TextDecoder();
    let at = 0;
    return Array.from(this.indices(`${name}.length`), (length) =>
      decoder.decode(bytes.subarray(at, (at += length))),
    );
  }
}

// Sums of zigzag LEB128 differences.
function decode(bytes: Uint8Array, out: Uint32Array | Float64Array): void {
  let at = 0;
  let sum = 0;
  for (let i = 0; i < out.length; ++i) {
    let byte = bytes[at++]!;
    let value = byte & 0x7f;
    // Differences of up to four bytes fit a 32-bit integer; longer ones are rare.
    let shift = 7;
    while (byte >= 0x80 && shift < 28) {
      byte = bytes[at++]!;
      value |= (byte & 0x7f) << shift;
      shift += 7;
    }
    let scale = 2 ** 28;
    while (byte >= 0x80) {
      byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    const odd = value % 2;
    sum += odd ? -(value + 1) / 2 : value / 2;
    out[i] = sum;
  }
}
