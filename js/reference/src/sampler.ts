// Chapter 10: the sampler.

import type { Bijection } from "./families.ts";
import { blockShuffle, walk } from "./orders.ts";
import { M64, atEpoch, check, parseSaved, samples, savedText } from "./words.ts";
import type { Seed } from "./words.ts";

export type Tail = "short" | "pad" | "fill" | "drop";

/** The order of an epoch, from a length and the seed at that epoch. */
export type Orders = (length: bigint, seed: Seed) => Bijection;

export const shuffled: Orders = walk;

export const sequential: Orders = (length) => ({
  last: length - 1n,
  forward: (place) => place,
  inverse: (item) => item,
});

export const inBlocks =
  (block: bigint, window: bigint): Orders =>
  (length, seed) =>
    blockShuffle(length, block, window, seed);

export interface Ranks {
  readonly rank: bigint;
  readonly ranks: bigint;
  readonly batch: bigint;
  readonly tail: Tail;
}

export class Sampler {
  readonly #length: bigint;
  readonly #seed: Seed;
  readonly #by: Ranks;
  readonly #orders: Orders;
  #epoch = 0n;
  #consumed = 0n;
  #order: Bijection;

  constructor(length: bigint, seed: Seed, by: Ranks, orders: Orders = shuffled) {
    const { rank, ranks, batch } = by;
    if (length < 1n || ranks < 1n || batch < 1n || rank < 0n || rank >= ranks) {
      throw new RangeError("a sampler has items, ranks and a batch, and its rank is one of them");
    }
    [this.#length, this.#seed, this.#by, this.#orders] = [length, seed, by, orders];
    this.#order = orders(length, atEpoch(seed, 0n));
  }

  get epoch(): bigint {
    return this.#epoch;
  }

  get consumed(): bigint {
    return this.#consumed;
  }

  setEpoch(epoch: bigint): void {
    this.#order = this.#orders(this.#length, atEpoch(this.#seed, epoch));
    [this.#epoch, this.#consumed] = [epoch, 0n];
  }

  nextEpoch(): void {
    if (this.#epoch === M64) {
      throw new RangeError("no epoch comes after 2^64 - 1");
    }
    this.setEpoch(this.#epoch + 1n);
  }

  /** The steps of a whole epoch. */
  steps(): bigint {
    return this.#stepsOf(this.#length);
  }

  /** The steps that are left in the epoch. */
  stepsRemaining(): bigint {
    return this.#stepsOf(this.#length - this.#consumed);
  }

  #stepsOf(left: bigint): bigint {
    const { ranks, batch, tail } = this.#by;
    const whole = ranks * batch;
    return tail === "drop" ? left / whole : (left + whole - 1n) / whole;
  }

  /** This rank's items of the next step, or nothing at the end of the epoch. */
  nextBatch(): bigint[] | undefined {
    const { rank, ranks, batch, tail } = this.#by;
    const [left, whole] = [this.#length - this.#consumed, ranks * batch];
    if (left === 0n || (left < whole && tail === "drop")) {
      return undefined;
    }
    const padded = ((left + ranks - 1n) / ranks) * ranks;
    const places = left >= whole || tail === "fill" ? whole : tail === "pad" ? padded : left;
    const items: bigint[] = [];
    for (let offset = rank; offset < places; offset += ranks) {
      const place = offset < left ? this.#consumed + offset : (offset - left) % this.#length;
      items.push(this.#order.forward(place));
    }
    this.#consumed += left < whole ? left : whole;
    return items;
  }

  /** The text of the state. */
  state(): string {
    return this.#text(this.#epoch, this.#consumed, this.#order);
  }

  /** The text of the state after `consumed` items of an epoch. */
  stateAt(epoch: bigint, consumed: bigint): string {
    if (consumed > this.#length) {
      throw new RangeError("an epoch has fewer items");
    }
    return this.#text(epoch, consumed, this.#orders(this.#length, atEpoch(this.#seed, epoch)));
  }

  #text(epoch: bigint, consumed: bigint, order: Bijection): string {
    const numbers = [this.#length, epoch, consumed];
    const values = samples(this.#length - 1n, order.forward);
    return savedText([...numbers, check([...numbers, ...this.#seed.words, ...values])]);
  }

  /** Goes to a state, and returns whether it is one of this sampler; if not, nothing changes. */
  resume(text: string): boolean {
    const numbers = parseSaved(text, 4);
    if (numbers === undefined) {
      return false;
    }
    const [length, epoch, consumed] = numbers as [bigint, bigint, bigint, bigint];
    if (length !== this.#length || consumed > length) {
      return false;
    }
    const order = this.#orders(length, atEpoch(this.#seed, epoch));
    if (this.#text(epoch, consumed, order) !== savedText(numbers)) {
      return false;
    }
    [this.#epoch, this.#consumed, this.#order] = [epoch, consumed, order];
    return true;
  }
}
