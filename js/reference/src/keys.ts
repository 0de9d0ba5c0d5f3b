// Chapters 2 and 3: Philox4x32-10, and the key streams that are made of it.

import { high, highProduct, join, low } from "./words.ts";
import type { Seed } from "./words.ts";

export type Block = [number, number, number, number];

export function philox(key: readonly [number, number], counter: Readonly<Block>): Block {
  let [x0, x1, x2, x3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const [a, b] = [highProduct(0xd2511f53, x0), highProduct(0xcd9e8d57, x2)];
    const [lowA, lowB] = [Math.imul(0xd2511f53, x0) >>> 0, Math.imul(0xcd9e8d57, x2) >>> 0];
    [x0, x1, x2, x3] = [(b ^ x1 ^ k0) >>> 0, lowB, (a ^ x3 ^ k1) >>> 0, lowA];
    [k0, k1] = [(k0 + 0x9e3779b9) >>> 0, (k1 + 0xbb67ae85) >>> 0];
  }
  return [x0, x1, x2, x3];
}

/** The words of domains. */
export const domains = {
  bits: (bits: number): number => bits,
  exact: (n: bigint): number => Number(0x80000000n | ((n ^ (n >> 31n) ^ (n >> 62n)) & 0x7fffffffn)),
  blocks: 0x40000000,
  generator: (number: number): number => (0x20000000 | number) >>> 0,
};

/** The words of a seed and a domain. */
export class KeyStream {
  readonly #seed: Seed;
  readonly #domain: number;
  #next = 0;
  #block: Block = [0, 0, 0, 0];
  #used = 4;

  constructor(seed: Seed, domain: number) {
    this.#seed = seed;
    this.#domain = domain;
  }

  word(): number {
    if (this.#used === 4) {
      const epoch = this.#seed.epoch;
      this.#block = [this.#next, this.#domain, low(epoch), high(epoch)];
      for (const key of this.#seed.words) {
        this.#block = philox([low(key), high(key)], this.#block);
      }
      this.#next = (this.#next + 1) >>> 0;
      this.#used = 0;
    }
    return this.#block[this.#used++] as number;
  }

  word64(): bigint {
    const first = this.word();
    return join(first, this.word());
  }
}

/** The child of a seed for a domain. */
export function child(seed: Seed, domain: number): Seed {
  const stream = new KeyStream(seed, domain);
  return { words: seed.words.map(() => stream.word64()), epoch: 0n };
}
