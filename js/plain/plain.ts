// The functions of the WebAssembly module in plain JavaScript, for engines that have no WebAssembly
// or do not allow it: js/wasm/src, with the reference in place of the library. The values are the
// same. A shuffle takes twice the time, and a single place ten times or, in an order of more than
// 2^32 items, forty times.

import type { Bijection, Narrow } from "../reference/src/families.ts";
import { Standard } from "../reference/src/families.ts";
import { walk } from "../reference/src/orders.ts";
import type { Tail } from "../reference/src/sampler.ts";
import { Sampler, inBlocks, sequential, shuffled } from "../reference/src/sampler.ts";
import type { Seed } from "../reference/src/words.ts";
import { M64 } from "../reference/src/words.ts";
import type { Exports } from "../src/start.ts";

/** The most items over which an index is built. */
const MOST_INDEXED = 1n << 28n;

/** The most slots that are evaluated from an end rather than build an index; and where there is none. */
const [FAR, REACH] = [1n << 12n, 1n << 20n];

/** An index is built rather than evaluate more than one slot in this many. */
const NEAR_SHARE = 16n;

/** The slots between two counts of an index. */
const RUN = 1024;

const TAILS: readonly Tail[] = ["pad", "short", "fill", "drop"];

/** What an order and its inverses share. */
interface Kind {
  readonly length: bigint;
  readonly bijection: Bijection;
  /** Whether the bijection is on exactly the items, so that a place is a slot. */
  readonly isFull: boolean;
  /** The survivors before each run of slots, once they have been counted. */
  counts?: number[];
}

interface Order {
  readonly kind: Kind;
  readonly isInverted: boolean;
}

/** The functions, with a buffer of `room` words, and the objects that have not been freed. */
export function plain(room: number): Exports & { readonly objects: ReadonlyMap<number, unknown> } {
  const objects = new Map<number, unknown>();
  let last = 0;
  /** The buffer, and the batch behind it. */
  const memory = { buffer: new ArrayBuffer(8 * room) };
  const words = (): BigUint64Array => new BigUint64Array(memory.buffer, 0, room);
  const narrowWords = (): Uint32Array => new Uint32Array(memory.buffer, 0, 2 * room);

  const kept = (object: unknown): number => {
    last += 1;
    objects.set(last, object);
    return last;
  };
  const free = (address: number): void => void objects.delete(address);
  const orderAt = (address: number): Order => objects.get(address) as Order;
  const samplerAt = (address: number): Sampler => objects.get(address) as Sampler;
  const written = (text: string): number => {
    narrowWords().set(Array.from(text, (character) => character.charCodeAt(0)));
    return text.length;
  };

  /** The seed in the buffer's first words. */
  const seed = (isKey: number): Seed => {
    const given = words();
    return { words: [...given.subarray(0, isKey === 0 ? 1 : 4)], epoch: given[4]! };
  };

  return {
    objects,
    memory: memory as unknown as WebAssembly.Memory,
    mostIndexed: MOST_INDEXED,
    buffer: () => 0,

    order(isWalk, length, isKey) {
      const bijection = (isWalk === 0 ? Standard : walk)(length, seed(isKey));
      const kind = { length, bijection, isFull: bijection.last < length };
      return kept({ kind, isInverted: false } satisfies Order);
    },
    order_inverted(order) {
      const { kind, isInverted } = orderAt(order);
      return kept({ kind, isInverted: !isInverted } satisfies Order);
    },
    order_free: free,
    order_look_up: (order, number, isItem) =>
      Number(lookUp(orderAt(order), BigInt(number), isItem !== 0)),
    order_look_up_wide: (order, number, isItem) => lookUp(orderAt(order), number, isItem !== 0),
    order_near(order, number, isItem) {
      const found = near(orderAt(order), number, isItem !== 0);
      if (found === undefined) return 0;
      words().set(found);
      return 1;
    },
    order_run(order, first, count) {
      const { kind, isInverted } = orderAt(order);
      const out = words();
      if (kind.isFull || isInverted) {
        for (let k = 0; k < count; k++) out[k] = lookUp({ kind, isInverted }, first + BigInt(k), false);
      } else {
        select(kind, Number(first), count, (item, k) => (out[k] = BigInt(item)));
      }
    },
    order_items(order, slot, slots) {
      const { kind } = orderAt(order);
      const out = narrowWords();
      return items(kind, slot, slots, (item, k) => (out[k] = Number(item)));
    },
    order_items_wide(order, slot, slots) {
      const { kind } = orderAt(order);
      const out = words();
      return items(kind, slot, slots, (item, k) => (out[k] = BigInt(item)));
    },
    order_slots(order, first, count) {
      const narrow = orderAt(order).kind.bijection.narrow as Narrow;
      const out = narrowWords();
      for (let k = 0; k < count; k++) out[k] = narrow.inverse(first + k);
    },

    sampler(isKey, tail, order) {
      const [length, rank, ranks, batch, block, window] = words().slice(5, 11) as unknown as [
        bigint,
        bigint,
        bigint,
        bigint,
        bigint,
        bigint,
      ];
      if (ranks * batch > M64) return 0;
      const orders = [shuffled, inBlocks(block, window), sequential][order]!;
      return kept(new Sampler(length, seed(isKey), { rank, ranks, batch, tail: TAILS[tail]! }, orders));
    },
    sampler_free: free,
    sampler_next(sampler) {
      const batch = samplerAt(sampler).nextBatch();
      if (batch === undefined) return -1;
      const bytes = 8 * (room + batch.length);
      if (memory.buffer.byteLength < bytes) memory.buffer = new ArrayBuffer(bytes);
      new BigUint64Array(memory.buffer, 8 * room).set(batch);
      return batch.length;
    },
    sampler_batch: () => 8 * room,
    sampler_set_epoch(sampler, epoch) {
      samplerAt(sampler).setEpoch(BigInt.asUintN(64, epoch));
      return 1;
    },
    sampler_numbers(sampler) {
      const of = samplerAt(sampler);
      words().set([of.epoch, of.consumed, of.steps(), of.stepsRemaining()]);
    },
    sampler_state: (sampler) => written(samplerAt(sampler).state()),
    sampler_state_at: (sampler, epoch, consumed) =>
      written(samplerAt(sampler).stateAt(BigInt.asUintN(64, epoch), consumed)),
    sampler_resume(sampler, length) {
      const text = String.fromCodePoint(...narrowWords().subarray(0, length));
      return Number(samplerAt(sampler).resume(text));
    },
  };
}

/** The item at a place, or the place of an item. */
function lookUp({ kind, isInverted }: Order, number: bigint, isItem: boolean): bigint {
  const { bijection } = kind;
  const isPlaceOf = isItem !== isInverted;
  if (kind.isFull) return isPlaceOf ? bijection.inverse(number) : bijection.forward(number);
  const counted = kind.counts === undefined ? near({ kind, isInverted }, number, isItem) : undefined;
  if (counted !== undefined) return counted[0];
  let found = 0n;
  if (isPlaceOf) {
    const slot = Number(bijection.inverse(number));
    const first = slot - (slot % RUN);
    found = BigInt(counts(kind)[first / RUN]!);
    eachSurvivor(kind, first, slot - first, () => {
      found += 1n;
      return true;
    });
  } else {
    select(kind, Number(number), 1, (item) => (found = BigInt(item)));
  }
  return found;
}

/** What is looked up near an end without an index, and its slot. */
function near({ kind, isInverted }: Order, number: bigint, isItem: boolean): [bigint, bigint] | undefined {
  const { bijection, length } = kind;
  const share = bijection.last / NEAR_SHARE;
  const reach = length > MOST_INDEXED ? REACH : share < FAR ? share : FAR;
  if (isItem !== isInverted) {
    const slot = bijection.inverse(number);
    const behind = bijection.last - slot;
    if (slot > reach && behind >= reach) return undefined;
    let count = 0n;
    const add = (): boolean => (count += 1n) > 0n;
    if (slot <= reach) eachSurvivor(kind, 0, Number(slot), add);
    else eachSurvivor(kind, slot, Number(behind) + 1, add);
    return [slot <= reach ? count : length - count, slot];
  }
  const fromEnd = length - 1n - number;
  let left = number <= fromEnd ? number : fromEnd;
  // At least half of all slots have an item.
  if (2n * left > reach) return undefined;
  for (let slot = number <= fromEnd ? 0n : bijection.last; ; slot += number <= fromEnd ? 1n : -1n) {
    const item = bijection.forward(slot);
    if (item < length && left-- === 0n) return [item, slot];
  }
}

/** Passes the survivors among some slots, in order, until the function says that it is enough. */
function eachSurvivor(
  { bijection: { narrow, forward }, length }: Kind,
  first: number | bigint,
  count: number,
  use: (item: number | bigint) => boolean,
): void {
  if (narrow !== undefined) {
    const below = Number(length);
    for (let slot = Number(first), end = slot + count; slot < end; slot++) {
      const item = narrow.forward(slot);
      if (item < below && !use(item)) return;
    }
  } else {
    for (let slot = BigInt(first); slot < BigInt(first) + BigInt(count); slot++) {
      const item = forward(slot);
      if (item < length && !use(item)) return;
    }
  }
}

/** The survivors before each run of slots, and of all runs. */
function counts(kind: Kind): number[] {
  if (kind.counts === undefined) {
    const slots = Number(kind.bijection.last + 1n);
    let all = 0;
    kind.counts = [0];
    for (let first = 0; first < slots; first += RUN) {
      eachSurvivor(kind, first, Math.min(RUN, slots - first), () => {
        all += 1;
        return true;
      });
      kind.counts.push(all);
    }
  }
  return kind.counts;
}

/** Passes the survivors from one on, all of which there are, each with its number. */
function select(
  kind: Kind,
  first: number,
  count: number,
  use: (item: number | bigint, k: number) => void,
): void {
  const before = counts(kind);
  let [run, end] = [0, before.length];
  while (end - run > 1) {
    const middle = (run + end) >>> 1;
    if (before[middle]! <= first) run = middle;
    else end = middle;
  }
  let k = before[run]! - first;
  const slots = Number(kind.bijection.last + 1n) - run * RUN;
  eachSurvivor(kind, run * RUN, slots, (item) => {
    if (k >= 0) use(item, k);
    k += 1;
    return k < count;
  });
}

/** Passes the items at `slots` slots, and returns how many there are; -1 after the last slot. */
function items(
  kind: Kind,
  slot: bigint,
  slots: number,
  use: (item: number | bigint, k: number) => void,
): number {
  const left = kind.bijection.last + 1n - slot;
  if (left <= 0n) return -1;
  let count = 0;
  eachSurvivor(kind, slot, Math.min(Number(left), slots), (item) => {
    use(item, count);
    count += 1;
    return true;
  });
  return count;
}
