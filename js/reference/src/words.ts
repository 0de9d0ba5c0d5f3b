// Chapter 1: numbers, seeds, digests and checks. Words of 32 bits are numbers, and words of 64 bits
// are bigints.

export const M64 = (1n << 64n) - 1n;

/** The low 32 bits of a word of 64 bits. */
export const low = (x: bigint): number => Number(x & 0xffffffffn);

/** The high 32 bits of a word of 64 bits. */
export const high = (x: bigint): number => Number(x >> 32n);

export const join = (first: number, second: number): bigint =>
  BigInt(first) | (BigInt(second) << 32n);

/** The high 32 bits of the product of two words of 32 bits. */
export function highProduct(a: number, b: number): number {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const other = a0 * b1 + (middle % 0x10000);
  return (a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(other / 0x10000)) >>> 0;
}

/** The smallest `b` with `2^b >= length`. */
export function bits(length: bigint): number {
  return length <= 1n ? 0 : (length - 1n).toString(2).length;
}

/** The inverse of an odd number modulo `2^bits`. */
export function oddInverse(number: bigint, bits: number): bigint {
  let inverse = number;
  for (let step = 0; step < 5; step++) {
    inverse = (inverse * (2n - number * inverse)) & M64;
  }
  return inverse & ((1n << BigInt(bits)) - 1n);
}

/** What chooses an order: one word of 64 bits or four, and an epoch. */
export interface Seed {
  readonly words: readonly bigint[];
  readonly epoch: bigint;
}

/** A seed of one word, or of 32 bytes. */
export function seedOf(value: bigint | number | Uint8Array, epoch: bigint | number = 0n): Seed {
  if (!(value instanceof Uint8Array)) {
    return { words: [checked(BigInt(value))], epoch: checked(BigInt(epoch)) };
  }
  if (value.length !== 32) {
    throw new RangeError(`a seed has 32 bytes, not ${value.length}`);
  }
  const words = [0, 1, 2, 3].map((k) => {
    const bytes = value.subarray(8 * k, 8 * k + 8);
    return bytes.reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n);
  });
  return { words, epoch: checked(BigInt(epoch)) };
}

export const atEpoch = (seed: Seed, epoch: bigint): Seed => ({ words: seed.words, epoch });

function checked(word: bigint): bigint {
  if (word < 0n || word > M64) {
    throw new RangeError(`seeds and epochs are from 0 to 2^64 - 1, and not ${word}`);
  }
  return word;
}

/** The seed that a text is. */
export function parseSeed(text: string): Seed {
  const parts = /^([0-9a-fA-F]{64}|[0-9]+)(?:@([0-9]+))?$/.exec(text);
  if (parts === null) {
    throw new SyntaxError(`no seed: ${JSON.stringify(text)}`);
  }
  const [, seed, epoch = "0"] = parts as unknown as [string, string, string?];
  if (seed.length !== 64) {
    return seedOf(BigInt(seed), BigInt(epoch));
  }
  const bytes = Array.from({ length: 32 }, (_, k) => parseInt(seed.slice(2 * k, 2 * k + 2), 16));
  return seedOf(Uint8Array.from(bytes), BigInt(epoch));
}

export function seedText({ words, epoch }: Seed): string {
  const bytes = words.flatMap((word) =>
    Array.from({ length: 8 }, (_, k) => Number((word >> BigInt(8 * k)) & 0xffn)),
  );
  const seed =
    words.length === 1
      ? String(words[0])
      : bytes.map((b) => b.toString(16).padStart(2, "0")).join("");
  return epoch === 0n ? seed : `${seed}@${epoch}`;
}

/** FNV-1a with 64 bits over the bytes of words of 64 bits. */
export function digest(values: Iterable<number | bigint>): bigint {
  // Two halves, since a product of bigints for each byte takes most of a test's time. The factor is
  // 2^40 + 0x1b3.
  let [top, bottom] = [0xcbf29ce4, 0x84222325];
  const absorb = (word: number): void => {
    for (let shift = 0; shift < 32; shift += 8) {
      bottom = (bottom ^ ((word >>> shift) & 0xff)) >>> 0;
      const product = bottom * 0x1b3;
      top = (Math.imul(top, 0x1b3) + Math.floor(product / 0x100000000) + (bottom << 8)) >>> 0;
      bottom = product >>> 0;
    }
  };
  for (const value of values) {
    if (typeof value === "bigint") {
      absorb(low(value));
      absorb(high(value));
    } else {
      absorb(value >>> 0);
      absorb(Math.floor(value / 0x100000000));
    }
  }
  return join(bottom, top);
}

/** The check of what is saved. */
export function check(words: Iterable<bigint>): bigint {
  let state = 0n;
  for (const word of words) {
    let x = ((state ^ word) + 0x9e3779b97f4a7c15n) & M64;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & M64;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & M64;
    state = x ^ (x >> 31n);
  }
  return state;
}

/** Sixteen values of a map on `[0, last]`. */
export const samples = (last: bigint, map: (x: bigint) => bigint): bigint[] =>
  Array.from({ length: 16 }, (_, k) => map((last * BigInt(k)) / 15n));

/** The text of saved numbers. */
export const savedText = (numbers: readonly bigint[]): string =>
  numbers.map((number) => number.toString(16)).join("-");

/** The numbers of a saved text, or nothing if it has another form. */
export function parseSaved(text: string, count: number): bigint[] | undefined {
  const parts = text.split("-");
  if (parts.length !== count || !parts.every((part) => /^[0-9a-fA-F]+$/.test(part))) {
    return undefined;
  }
  const numbers = parts.map((part) => BigInt(`0x${part}`));
  return numbers.every((number) => number <= M64) ? numbers : undefined;
}
