/// <reference lib="esnext.disposable" preserve="true" />
// The order of samples for training, over ranks, with a state.

import { integer, named, said, string, word } from "./given.ts";
import { type Seed, writeSeed } from "./seed.ts";
import { Handle, narrowBuffer, wasm, wideBuffer } from "./wasm.ts";

/** What happens in the last step of an epoch if fewer items are left than a step takes. */
export type Tail = "pad" | "short" | "fill" | "drop";

const TAILS: readonly Tail[] = ["pad", "short", "fill", "drop"];

const OPTIONS = ["length", "seed", "rank", "ranks", "batch", "tail", "order"];

/** What a {@link Sampler} deals out, and to whom. */
export interface SamplerOptions {
  /** The number of items: at least 1. */
  readonly length: number;
  readonly seed: Seed;
  /** This rank, counted from 0. The default is 0. */
  readonly rank?: number;
  /** The number of ranks. The default is 1. */
  readonly ranks?: number;
  /** The number of items that a rank takes in a step. The default is 1. */
  readonly batch?: number;
  /** The default is `"pad"`. */
  readonly tail?: Tail;
  /** The default is `"shuffled"`. Blocks are for data that is read in blocks. */
  readonly order?: "shuffled" | "sequential" | { readonly block: number; readonly window: number };
}

/** Deals out the items of one epoch after another to ranks, in batches. */
export class Sampler implements Iterable<number[]> {
  readonly #sampler: Handle;
  readonly #batch: number;
  readonly #length: number;

  constructor(options: SamplerOptions) {
    const { length, seed, rank = 0, ranks = 1, batch = 1, tail = "pad", order = "shuffled" } =
      named(options, OPTIONS, "a sampler");
    const isOfBlocks = typeof order !== "string";
    const { block, window } = isOfBlocks
      ? named(order, ["block", "window"], "an order")
      : { block: 0, window: 0 };
    const blocks = isOfBlocks ? { block, window } : {};
    const counts = { length, "number of ranks": ranks, batch, ...blocks };
    for (const [name, count] of Object.entries(counts)) integer(count, 1, `the ${name}`);
    if (integer(rank, 0, "the rank") >= ranks) {
      throw new RangeError(`there is no rank ${rank} among ${ranks}: ranks are counted from 0`);
    }
    if (!TAILS.includes(tail)) {
      throw new RangeError(`there is no tail ${said(tail)}: there are ${TAILS.join(", ")}`);
    }
    if (!isOfBlocks && order !== "shuffled" && order !== "sequential") {
      throw new RangeError(`there is no order ${said(order)}: there are shuffled, sequential and blocks`);
    }
    if (batch > 2 ** 28) {
      throw new RangeError(`a batch of ${batch} items was asked for: it has at most 2^28`);
    }
    const numbers = Object.entries({ length, rank, "number of ranks": ranks, batch, block, window });
    const wide = numbers.map(([name, number]) => word(number, `the ${name}`));
    const isKey = writeSeed(seed, undefined);
    wideBuffer().set(wide, 5);
    const kind = isOfBlocks ? 1 : order === "shuffled" ? 0 : 2;
    const sampler = wasm().sampler(isKey, TAILS.indexOf(tail), kind);
    if (sampler === 0) {
      throw new RangeError(`${ranks} ranks with batches of ${batch} take 2^64 items or more`);
    }
    [this.#batch, this.#length] = [batch, length];
    this.#sampler = new Handle(this, sampler, wasm().sampler_free);
  }

  /** This rank's next batch, which may be empty with the tail `"short"`; `undefined` at the end. */
  nextBatch(): number[] | undefined {
    const { address } = this.#sampler;
    const count = wasm().sampler_next(address);
    if (count === -1) return undefined;
    if (count < 0) throw new RangeError(`there is no memory for a batch of ${this.#batch} items`);
    const items = new BigUint64Array(wasm().memory.buffer, wasm().sampler_batch(address), count);
    return Array.from(items, Number);
  }

  /** The batches that remain in the epoch. */
  *[Symbol.iterator](): Generator<number[], void, undefined> {
    for (let batch; (batch = this.nextBatch()) !== undefined; ) yield batch;
  }

  /** Goes to the beginning of the next epoch. The last one is 2^64 - 1. */
  nextEpoch(): void {
    const epoch = this.#numbers()[0]!;
    if (epoch === 2n ** 64n - 1n) {
      throw new RangeError("the sampler is in epoch 2^64 - 1, which no other follows: choose an epoch by setEpoch");
    }
    this.#setEpoch(epoch + 1n);
  }

  /** Goes to the beginning of an epoch: an integer up to 2^53, or a BigInt below 2^64. */
  setEpoch(epoch: number | bigint): void {
    this.#setEpoch(word(epoch, "the epoch"));
  }

  /** The epoch: a BigInt above 2^53, and else a number. */
  get epoch(): number | bigint {
    const epoch = this.#numbers()[0]!;
    return epoch > 2n ** 53n ? epoch : Number(epoch);
  }

  /** The places that all ranks together have consumed of the epoch. */
  get consumed(): number {
    return Number(this.#numbers()[1]);
  }

  /** The steps of a whole epoch, the same for every rank. */
  get steps(): number {
    return Number(this.#numbers()[2]);
  }

  /** The steps that are left of the epoch, the same for every rank. */
  get stepsRemaining(): number {
    return Number(this.#numbers()[3]);
  }

  /**
   * The state as a short text. A sampler of the same length, seed and order resumes from it, with
   * any rank, number of ranks, batch and tail.
   */
  get state(): string {
    return this.#text(wasm().sampler_state(this.#sampler.address));
  }

  /**
   * The state of this sampler, and of any other of the same length, seed and order, after all ranks
   * together have taken `consumed` items of an epoch. No items are drawn for it.
   */
  stateAt(epoch: number | bigint, consumed: number): string {
    const [wide, taken] = [word(epoch, "the epoch"), integer(consumed, 0, "consumed")];
    if (taken > this.#length) {
      throw new RangeError(
        `${taken} items consumed were given, and an epoch has ${this.#length}: ` +
          "count those of all ranks from the beginning of the epoch",
      );
    }
    const characters = wasm().sampler_state_at(this.#sampler.address, wide, BigInt(taken));
    if (characters === 0) throw new RangeError(`the order of epoch ${wide} cannot be drawn`);
    return this.#text(characters);
  }

  /** Continues from a saved state. */
  resume(state: string): void {
    const characters = Array.from(string(state, "the state"), (character) => character.codePointAt(0)!);
    if (characters.length <= 100) {
      narrowBuffer().set(characters);
      if (wasm().sampler_resume(this.#sampler.address, characters.length)) return;
    }
    throw new RangeError(
      `"${state.slice(0, 100)}" is no state, or that of a sampler with another length, seed or order`,
    );
  }

  /**
   * Gives back the memory that the sampler takes in the module, which is otherwise given back some
   * time after the sampler has gone. It cannot be used afterwards.
   */
  free(): void {
    this.#sampler.free();
  }

  /** `using s = ..` frees the sampler. */
  [Symbol.dispose](): void {
    this.free();
  }

  #setEpoch(epoch: bigint): void {
    if (!wasm().sampler_set_epoch(this.#sampler.address, epoch)) {
      throw new RangeError(`the order of epoch ${epoch} cannot be drawn`);
    }
  }

  #text(characters: number): string {
    return String.fromCharCode(...narrowBuffer().slice(0, characters));
  }

  #numbers(): BigUint64Array {
    wasm().sampler_numbers(this.#sampler.address);
    return wideBuffer();
  }
}
