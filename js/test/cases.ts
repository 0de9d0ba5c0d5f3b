// What is checked in Node and in a browser: the vectors of the specification, random cases against
// the reference, and what is refused.

import { Ids, type Index, Permutation, Places, Sampler, type Seed, type Tail, sample, shuffle, unshuffle } from "bijective-shuffle";

import { blockShuffle, order as orderOf, walk as walkOf } from "../reference/src/orders.ts";
import { digest, parseSeed, seedOf } from "../reference/src/words.ts";

/** A case of the vectors, whose fields have the types of schema.json. */
type Case = Record<string, any>;

/** A chapter of the vectors: groups of cases. */
export interface Chapter {
  readonly cases: Record<string, Record<string, unknown>[]>;
}

let checks = 0;

function equal(ours: unknown, theirs: unknown): void {
  checks += 1;
  const text = (value: unknown): string =>
    JSON.stringify(value, (_, x: unknown) => (typeof x === "bigint" ? `${x}n` : x)) ?? "undefined";
  if (text(ours) !== text(theirs)) {
    throw new Error(`${text(ours).slice(0, 300)} should be ${text(theirs).slice(0, 300)}`);
  }
}

function refused(work: () => unknown, words: string): void {
  checks += 1;
  try {
    work();
  } catch (error) {
    const isPlain = error instanceof RangeError || error instanceof TypeError;
    if (isPlain && error.message.includes(words)) return;
    throw error;
  }
  throw new Error(`this is to be refused: ${words}`);
}

/** A seed's text, as the package takes it. */
function seedOfText(text: string): [Seed, { epoch: bigint }] {
  const { words, epoch } = parseSeed(text);
  if (words.length === 1) return [words[0]!, { epoch }];
  const key = new Uint8Array(32);
  words.forEach((word, k) => new DataView(key.buffer).setBigUint64(8 * k, word, true));
  return [key, { epoch }];
}

/** All views of an order of not too many items. */
function views(p: Permutation, items: number[]): void {
  equal(p.length, items.length);
  equal([...p], items);
  equal(p.slice(), items);
  const third = Math.floor(items.length / 3);
  equal(p.slice(third, -1), items.slice(third, -1));
  equal(p.at(items.length), undefined);
  equal(p.at(-items.length - 1), undefined);
  equal(p.position(items.length), undefined);
  const inverse = p.inverted();
  for (let k = 0; k < items.length; k += 1 + Math.floor(items.length / 40)) {
    equal([p.at(k), p.position(items[k]!)], [items[k], k]);
    equal([inverse.at(items[k]!), inverse.position(k)], [k, items[k]]);
    equal(p.at(k - items.length), items[k]);
  }
  const shards = [0, 1, 2].map((rank) => p.shard(rank, 3));
  equal(shards.flatMap((shard) => [...shard]), items);
  equal(shards.map((shard) => shard.end - shard.start), shards.map((shard) => shard.length));
}

const KINDS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
] as const;

/** Arrays of all kinds, moved in an order and back. */
function moves(items: number[], seed: Seed, options: { epoch: bigint }): void {
  const list = items.map((_, k) => ({ k }));
  equal(shuffle(list, seed, options).map(({ k }) => k), items);
  equal(unshuffle(list, seed, options).every(({ k }, place) => k === place), true);
  for (const kind of KINDS) {
    const before = new kind(items.length);
    for (let k = 0; k < items.length; k++) before[k] = k * 7;
    const moved = shuffle(before.slice(), seed, options);
    let right = true;
    for (let k = 0; k < items.length; k++) right &&= moved[k] === before[items[k]!];
    equal([kind.name, right], [kind.name, true]);
    unshuffle(moved, seed, options);
    for (let k = 0; k < items.length; k++) right &&= moved[k] === before[k];
    equal([kind.name, right], [kind.name, true]);
  }
  const wide = BigInt64Array.from(items, (_, k) => -(BigInt(k) ** 4n));
  const before = wide.slice();
  shuffle(wide, seed, options);
  equal(wide.every((x, k) => x === before[items[k]!]), true);
  unshuffle(wide, seed, options);
  equal(wide.every((x, k) => x === before[k]), true);
}

/** All views of both ends of an order that is too long for more. */
function ends<N extends number | bigint>(p: Permutation<N>, of: Case): void {
  const number = (word: string): Index<N> => (typeof p.length === "number" ? Number(word) : BigInt(word)) as Index<N>;
  const [places, items] = [of["places"].map(number) as Index<N>[], of["items"].map(number) as Index<N>[]];
  const half = items.length / 2;
  const [first, last] = [items.slice(0, half), items.slice(half)];
  const inverse = p.inverted();
  places.forEach((place, k) => {
    equal([p.at(place), p.position(items[k]!)], [items[k], place]);
    equal([inverse.at(items[k]!), inverse.position(place)], [place, items[k]]);
  });
  last.forEach((item, k) => equal([p.at(k - half), p.at(BigInt(k - half))], [item, item]));
  equal([p.slice(0, half), p.slice(-half), p.slice(1, 3), p.slice(-1)], [first, last, first.slice(1, 3), last.slice(-1)]);
  equal([...p.places(places[half]!, p.length)], last);
  equal(sample(p.length, half, ...seedOfText(of["seed"])), first);
  const isWide = typeof p.length === "bigint";
  for (const beyond of [p.length, -1n - BigInt(p.length), ...(isWide ? [2n ** 64n - 1n, 2n ** 64n] : [2 ** 60])]) {
    equal(p.at(beyond), undefined);
    equal(p.position(beyond), undefined);
  }
}

function vectors(chapters: Record<string, Chapter>): void {
  const each = (chapter: string, group: string, check: (of: Case) => void): void => {
    const cases = chapters[chapter]!.cases[group]!;
    equal(cases.length > 0, true);
    for (const of of cases) check(of as Case);
  };
  const listed = (of: Case, p: Permutation): number[] => {
    const items = [...p];
    equal(items.slice(0, (of["head"] as number[]).length), of["head"]);
    equal(digest(items), BigInt(of["digest"]!));
    return items;
  };
  each("06-compaction", "standard", (of) => {
    const [seed, options] = seedOfText(of["seed"]!);
    const p = new Permutation(Number(of["length"]), seed, options);
    const items = listed(of, p);
    views(p, items);
    moves(items, seed, options);
  });
  each("07-walk", "permutations", (of) => {
    const p = Permutation.walk(Number(of["length"]), ...seedOfText(of["seed"]!));
    views(p, listed(of, p));
  });
  each("07-walk", "places", (of) => {
    const p = Permutation.walk(BigInt(of["length"]!), ...seedOfText(of["seed"]!));
    (of["places"] as string[]).forEach((place, k) => {
      const item = BigInt((of["items"] as string[])[k]!);
      equal([p.at(BigInt(place)), p.position(item)], [item, BigInt(place)]);
    });
  });
  each("08-permutations", "inverses", (of) => {
    const [seed, options] = seedOfText(of["seed"]!);
    const length = Number(of["length"]);
    const p =
      of["order"] === "walk"
        ? Permutation.walk(length, seed, options)
        : new Permutation<number>(length, seed, options);
    views(p.inverted(), listed(of, p.inverted()));
  });
  each("08-permutations", "shards", (of) => {
    const { start, end } = Permutation.walk(BigInt(of["length"]!), 42).shard(of["rank"]!, of["ranks"]!);
    equal([start, end], [BigInt(of["start"]!), BigInt(of["end"]!)]);
  });
  each("08-permutations", "samples", (of) => {
    const [seed, options] = seedOfText(of["seed"]!);
    const [length, count] = [BigInt(of["length"]!), of["count"] as number];
    const items = (of["items"] as string[]).map(BigInt);
    equal(sample(length, count, seed, options), items);
    if (length > 2n ** 53n) return;
    equal(sample(Number(length), count, seed, options), items.map(Number));
    if (length > 1000n) return;
    const texts = Array.from({ length: Number(length) }, (_, k) => `${k}`);
    equal(sample(texts, count, seed, options), items.map(String));
    equal(shuffle(texts, seed, options).slice(0, count), items.map(String));
  });
  each("08-permutations", "ends", (of) => {
    const [seed, options] = seedOfText(of["seed"]!);
    ends(new Permutation(BigInt(of["length"]!), seed, options), of);
    if (BigInt(of["length"]!) <= 2n ** 53n) ends(new Permutation(Number(of["length"]!), seed, options), of);
  });
  const sampler = (of: Case): Sampler => {
    const order = of["order"] as "shuffled" | "sequential" | "blocks";
    const blocks = () => ({ block: Number(of["block"]), window: Number(of["window"]) });
    return new Sampler({
      length: Number(of["length"]),
      seed: seedOfText(of["seed"]!)[0],
      rank: of["rank"] ?? 0,
      ranks: of["ranks"] ?? 1,
      batch: of["batch"] ?? 1,
      tail: (of["tail"] as Tail | undefined) ?? "pad",
      order: order === "blocks" ? blocks() : order,
    });
  };
  each("10-sampler", "epochs", (of) => {
    const s = sampler(of);
    s.setEpoch(BigInt(of["epoch"]));
    equal(s.steps, (of["batches"] as unknown[]).length);
    equal([...s], of["batches"]);
    equal([s.consumed, BigInt(s.epoch)], [Number(of["consumed"]), BigInt(of["epoch"])]);
  });
  each("10-sampler", "resumes", (of) => {
    const s = sampler(of);
    s.resume(of["text"]!);
    equal([s.state, s.stepsRemaining], [of["text"], of["steps_remaining"]]);
    equal(s.nextBatch(), of["taken"]);
    equal(s.state, of["after"]);
    equal(sampler(of).stateAt(s.epoch, s.consumed), of["after"]);
  });
  each("10-sampler", "refused_states", (of) => {
    const s = sampler(of);
    const before = s.state;
    refused(() => s.resume(of["text"]!), "state");
    equal(s.state, before);
  });
}

/** Random cases, which the reference answers too. */
function reference(): void {
  let state = 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let k = 0; k < 60; k++) {
    const [length, seed, epoch] = [random(k < 40 ? 600 : 5000), random(2 ** 32), BigInt(random(9))];
    const theirs = seedOf(BigInt(seed), epoch);
    views(new Permutation<number>(length, seed, { epoch }), orderOf(length, theirs));
    const of = walkOf(BigInt(length), theirs);
    const walked = Array.from({ length }, (_, place) => Number(of.forward(BigInt(place))));
    views(Permutation.walk<number>(length, seed, { epoch }), walked);
    const half = Math.floor(length / 2);
    equal(sample(length, half, seed, { epoch }), orderOf(length, theirs).slice(0, half));
  }
  const blocks = new Sampler({ length: 1000, seed: 42, batch: 1000, order: { block: 30, window: 3 } });
  const of = blockShuffle(1000n, 30n, 3n, seedOf(42n));
  equal(blocks.nextBatch(), Array.from({ length: 1000 }, (_, slot) => Number(of.forward(BigInt(slot)))));
}

/** Long arrays, also of more than 8 MiB, which go through buckets, and items that do not fit. */
function longArrays(): void {
  for (const length of [(1 << 17) - 1, 200_000, 1 << 20, (1 << 20) + 3]) {
    const items = [...new Permutation<number>(length, 7n, { epoch: 1 })];
    const bits = Uint8Array.from(items, (item) => item & 1);
    equal(bits.reduce((sum, bit) => sum + bit, 0), Math.floor(length / 2));
    moves(items, 7n, { epoch: 1n });
  }
  // Narrow items go through buckets in longer arrays.
  const narrow = Uint32Array.from({ length: (1 << 21) + 1 }, (_, k) => k);
  const items = new Permutation<number>(narrow.length, 3n).slice();
  equal(shuffle(narrow, 3n).every((item, place) => item === items[place]), true);
  equal(unshuffle(narrow, 3n).every((item, place) => item === place), true);
  // Bits of what is no number stay what they are.
  const nans = new Float32Array(Uint32Array.from({ length: 1000 }, (_, k) => 0x7f800001 + k).buffer);
  unshuffle(shuffle(nans, 1), 1);
  equal([...new Uint32Array(nans.buffer)], Array.from({ length: 1000 }, (_, k) => 0x7f800001 + k));
  // A part of a buffer, and nothing beside it.
  const whole = new Uint16Array(300).fill(9);
  shuffle(whole.subarray(100, 200).fill(1), 5);
  equal([...whole].map(String).join(""), "9".repeat(100) + "1".repeat(100) + "9".repeat(100));
}

function longOrders(): void {
  const p = Permutation.walk(1e12, 42);
  equal([p.at(0), p.at(15), p.position(0x70366b4dbb)], [0x245c8b0ad5, 0x70366b4dbb, 15]);
  equal(p.slice(15, 17), [p.at(15), p.at(16)]);
  refused(() => p.slice(0, 2 ** 32), "`places`");
  const all = Permutation.walk(2n ** 64n - 1n, 42);
  equal(all.position(all.at(-1)!), 2n ** 64n - 2n);
  const shuffled = new Permutation(1e12, 42);
  for (const place of [2 ** 19 + 1, 5e11, 1e12 - 2 ** 19 - 2]) {
    refused(() => shuffled.at(place), "Permutation.walk");
    refused(() => shuffled.slice(place, place + 1), "Permutation.walk");
    refused(() => shuffled.inverted().position(place), "Permutation.walk");
  }
  refused(() => shuffled.position(5), "Permutation.walk");
  refused(() => shuffled.inverted().slice(0, 1), "Permutation.walk");
  // Runs that begin near an end go on as far as they are asked.
  const begin = shuffled.slice(0, 10_000);
  equal(shuffled.slice(3000, 10_000), begin.slice(3000));
  const end = shuffled.slice(-10_000);
  equal([end.length, shuffled.slice(-3000)], [10_000, end.slice(7000)]);
  for (const k of [0, 4095, 9999]) {
    equal([shuffled.at(k), shuffled.at(k - 10_000)], [begin[k], end[k]]);
    equal([shuffled.position(begin[k]!), shuffled.position(end[k]!)], [k, 1e12 - 10_000 + k]);
  }
  const first = shuffled[Symbol.iterator]();
  equal(typeof first.next().value, "number");
  first.return();
  const wide = new Permutation(10n, 42);
  equal([...wide], [4n, 0n, 6n, 9n, 1n, 7n, 5n, 3n, 8n, 2n]);
  equal([wide.at(0), wide.at(-1n), wide.position(4)], [4n, 2n, 0n]);
  // Two at a time do not disturb each other.
  const [one, other] = [new Permutation(5000, 1), Permutation.walk(5000, 2)];
  const pairs = Array.from(one, (item, k) => [item, other.at(k)]);
  equal(pairs.map(([item]) => item), one.slice());
  const [a, b] = [one[Symbol.iterator](), one[Symbol.iterator]()];
  for (let k = 0; k < 5000; k++) if (a.next().value !== b.next().value) throw new Error("disturbed");
}

function ids(): void {
  const key = Uint8Array.from({ length: 32 }, (_, k) => k);
  for (const bits of [32, 53] as const) {
    const map = new Ids(key, { bits });
    const texts = new Set<string>();
    for (let number = 0; number < 2000; number++) {
      const id = map.encode(number);
      equal([map.decode(id), map.fromText(map.toText(number))], [number, number]);
      texts.add(map.toText(number));
    }
    equal(texts.size, 2000);
    equal([...texts].every((text) => text.length === Math.ceil(bits / 5)), true);
    equal(map.encode(2 ** bits - 1), Permutation.walk(2 ** bits, key).at(2 ** bits - 1));
    refused(() => map.encode(2 ** bits), "2^");
    refused(() => map.encode(-1), "2^");
    refused(() => map.decode(-1), "2^");
    refused(() => map.fromText("o".repeat(Math.ceil(bits / 5))), "letter");
    refused(() => map.fromText("0"), "it has 1 letters");
    refused(() => map.fromText("z".repeat(Math.ceil(bits / 5))), "no id");
  }
  refused(() => new Ids(key, { bits: 40 as 32 }), "32 or 53");
  refused(() => new Ids(key, { check: 1 as unknown as true }), "true or false");
  checkedIds(key);
}

/** Every error of one letter and every exchange of two letters is found, wherever they are. */
function checkedIds(key: Uint8Array): void {
  const letters = "0123456789abcdefghjkmnpqrstvwxyz";
  for (const bits of [32, 53] as const) {
    const [map, plain] = [new Ids(key, { bits, check: true }), new Ids(key, { bits })];
    const last = new Set<string>();
    for (let number = 0; number < 200; number++) {
      const text = map.toText(number);
      equal([text.slice(0, -1), map.fromText(text)], [plain.toText(number), number]);
      last.add(text.at(-1)!);
      refused(() => map.fromText(plain.toText(number)), "letters");
      refused(() => plain.fromText(text), "letters");
      if (number >= 10) continue;
      for (let k = 0; k < text.length; k++) {
        for (const letter of letters) {
          const other = text.slice(0, k) + letter + text.slice(k + 1);
          if (other !== text) refused(() => map.fromText(other), "does not fit");
        }
        for (let j = 0; j < k; j++) {
          const swapped = [...text];
          [swapped[k], swapped[j]] = [text[j]!, text[k]!];
          const other = swapped.join("");
          if (other !== text) refused(() => map.fromText(other), "does not fit");
        }
      }
    }
    equal(last.size, 32);
  }
  const zeros = new Ids(key, { bits: 32, check: true });
  equal(zeros.toText(zeros.decode(0)), "00000000");
  // 1 becomes x^7 = x^4 + x^2 modulo x^5 + x^2 + 1, and the other digits each an x less.
  equal(zeros.toText(zeros.decode(2 ** 30)), "1000000m");
  equal(zeros.toText(zeros.decode(1)), "00000012");
}

/** An array that refuses an item while it is shuffled has all of its items where they were. */
function refusedItems(): void {
  const error = new Error("no more");
  const readOnly = (items: number[], at: number) => Object.defineProperty(items, at, { writable: false });
  // Throws at one write, and takes the others: those that put items back too.
  const throwsOnce = (items: number[], at: number) => {
    let writes = 0;
    return new Proxy(items, {
      set: (of, key, value) => {
        if (writes++ === at) throw error;
        return Reflect.set(of, key, value);
      },
    });
  };
  const setter = (items: number[], at: number) => {
    const item = items[at];
    const set = (): void => {
      throw error;
    };
    return Object.defineProperty(items, at, { get: () => item, set });
  };
  // The second length goes through buckets.
  for (const length of [10, 2 ** 20 + 5]) {
    const before = Array.from({ length }, (_, k) => k);
    for (const make of [readOnly, throwsOnce, setter, (items: number[]) => Object.freeze(items) as number[]]) {
      for (const move of [shuffle, unshuffle]) {
        for (const at of [1, length - 2]) {
          const array = make(before.slice(), at);
          let thrown: unknown;
          try {
            move(array, 42);
          } catch (caught) {
            thrown = caught;
          }
          equal(make === throwsOnce || make === setter ? thrown === error : thrown instanceof TypeError, true);
          equal(array.every((item, k) => item === before[k]), true);
        }
      }
      if (length > 10) break;
    }
  }
  // A proxy may call the package while its items are moved.
  const busy = new Proxy([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], {
    set: (of, key, value) => {
      shuffle([..."abcdefghijklmnop"], 7);
      return Reflect.set(of, key, value);
    },
  });
  equal(shuffle(busy, 42), [4, 0, 6, 9, 1, 7, 5, 3, 8, 2]);
  equal(unshuffle(busy, 42), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/** A call, the kind of its error, and a word of the text. */
type Refusal = readonly [call: () => unknown, kind: typeof TypeError | typeof RangeError, word: string];

/** What every entry does with arguments of wrong types and values: nothing is converted. */
function wrongArguments(): void {
  const any = <T>(value: unknown): T => value as T;
  const p = new Permutation(8, 1);
  const wide = Permutation.walk(8n, 1);
  const map = new Ids(new Uint8Array(32));
  const options = { length: 10, seed: 1 };
  const s = new Sampler(options);
  // What no seed is, for every entry that takes one.
  const seeds: readonly (readonly [unknown, Refusal[1], string])[] = [
    ["42", TypeError, '"42"'],
    [undefined, TypeError, "undefined"],
    [null, TypeError, "null"],
    [true, TypeError, "true"],
    [{}, TypeError, "Object"],
    [[1, 2], TypeError, "Array"],
    [Symbol("seed"), TypeError, "symbol"],
    [new ArrayBuffer(32), TypeError, "ArrayBuffer"],
    [new Uint32Array(8), TypeError, "32 bytes"],
    [new DataView(new ArrayBuffer(32)), TypeError, "32 bytes"],
    [new Uint8Array(31), RangeError, "31 bytes"],
    [NaN, RangeError, "NaN"],
    [Infinity, RangeError, "Infinity"],
    [1.5, RangeError, "1.5"],
    [-1, RangeError, "-1"],
    [-1n, RangeError, "-1"],
    [2 ** 53 + 2, RangeError, "9007199254740994"],
    [2n ** 64n, RangeError, "18446744073709551616"],
  ];
  const takeSeeds: readonly ((seed: Seed) => unknown)[] = [
    (seed) => shuffle([1, 2], seed),
    (seed) => unshuffle([1, 2], seed),
    (seed) => new Permutation(5, seed),
    (seed) => Permutation.walk(5, seed),
    (seed) => sample(5, 2, seed),
    (seed) => new Sampler({ length: 5, seed }),
  ];
  const rows: Refusal[] = seeds.flatMap(([seed, kind, word]) =>
    takeSeeds.map((take): Refusal => [() => take(any(seed)), kind, word]),
  );
  // A map of ids takes a key of 32 bytes and nothing else.
  for (const [seed, kind, word] of seeds) {
    const isKey = kind === RangeError && typeof seed === "object";
    rows.push([() => new Ids(any(seed)), isKey ? RangeError : TypeError, isKey ? word : "32 bytes"]);
  }
  rows.push([() => new Ids(any(42)), TypeError, "32 bytes"], [() => new Ids(any(42n)), TypeError, "42n"]);
  // Options are known, and an epoch is a number.
  const takeOptions: readonly ((options: { epoch?: number }) => unknown)[] = [
    (of) => shuffle([1, 2], 1, of),
    (of) => unshuffle([1, 2], 1, of),
    (of) => new Permutation(5, 1, of),
    (of) => Permutation.walk(5, 1, of),
    (of) => sample(5, 2, 1, of),
    (of) => new Ids(new Uint8Array(32), of),
  ];
  for (const take of takeOptions) {
    rows.push(
      [() => take(any(3)), TypeError, "the options"],
      [() => take(any(null)), TypeError, "null"],
      [() => take(any({ epochs: 3 })), TypeError, '"epochs"'],
      [() => take(any({ epoch: "3" })), TypeError, "epoch"],
      [() => take({ epoch: -1 }), RangeError, "epoch"],
      [() => take({ epoch: 0.5 }), RangeError, "epoch"],
      [() => take({ epoch: NaN }), RangeError, "epoch"],
    );
  }
  // Lengths, places and items: texts, truths and what is missing.
  for (const value of ["3", "", null, undefined, true, {}, [3]]) {
    const given = any<number>(value);
    rows.push(
      [() => new Permutation(given, 1), TypeError, "length"],
      [() => Permutation.walk(given, 1), TypeError, "length"],
      [() => p.at(given), TypeError, "place"],
      [() => wide.at(given), TypeError, "place"],
      [() => p.position(given), TypeError, "index"],
      [() => wide.position(given), TypeError, "index"],
      [() => p.shard(given, 2), TypeError, "rank"],
      [() => p.shard(0, given), TypeError, "ranks"],
      [() => p.places(given, 8), TypeError, "place"],
      [() => p.places(0, given), TypeError, "end"],
      [() => map.encode(given), TypeError, "number"],
      [() => map.decode(given), TypeError, "number"],
      [() => map.toText(given), TypeError, "number"],
      [() => sample(5, given, 1), TypeError, "number of items"],
      [() => s.setEpoch(given), TypeError, "epoch"],
    );
    if (value === undefined) continue;
    rows.push(
      [() => p.slice(given), TypeError, "slice"],
      [() => p.slice(0, given), TypeError, "slice"],
      [() => new Sampler({ ...options, batch: given }), TypeError, "batch"],
      [() => new Sampler({ ...options, rank: given }), TypeError, "rank"],
      [() => new Sampler({ ...options, ranks: given }), TypeError, "number of ranks"],
      [() => new Sampler({ ...options, length: given }), TypeError, "length"],
      [() => new Sampler({ ...options, tail: any(value) }), RangeError, "tail"],
    );
  }
  for (const value of [-1, 0.5, NaN, Infinity]) {
    rows.push(
      [() => new Permutation(value, 1), RangeError, "length"],
      [() => p.shard(value, 2), RangeError, "rank"],
      [() => p.places(value, 8), RangeError, "place"],
      [() => p.places(0, value), RangeError, "end"],
      [() => new Places(p, value, 8), RangeError, "place"],
      [() => map.encode(value), RangeError, "2^53"],
      [() => map.decode(value), RangeError, "2^53"],
      [() => sample(5, value, 1), RangeError, "number of items"],
      [() => s.setEpoch(value), RangeError, "epoch"],
      [() => new Sampler({ ...options, batch: value }), RangeError, "batch"],
      [() => new Sampler({ ...options, rank: value }), RangeError, "rank"],
      [() => new Sampler({ ...options, ranks: value }), RangeError, "number of ranks"],
    );
  }
  // What is shuffled, drawn from, divided and resumed.
  for (const value of ["abc", 5n, { length: 3 }, null, undefined, new Set([1]), new ArrayBuffer(8)]) {
    rows.push([() => shuffle(any<number[]>(value), 1), TypeError, "neither"]);
    if (value !== 5n) rows.push([() => sample(any<number[]>(value), 1, 1), TypeError, "draw from"]);
    rows.push([() => new Places(any<Permutation>(value), 0, 1), TypeError, "Permutation"]);
  }
  rows.push(
    [() => p.places(3, 2), RangeError, "from 3 to 2"],
    [() => p.places(0n, 9n), RangeError, "from 0 to 9"],
    [() => sample(5, any(2n), 1), TypeError, "2n"],
    [() => sample([1, 2], 3, 1), RangeError, "3 of 2"],
    [() => map.encode(any(5n)), TypeError, "5n"],
    [() => map.fromText(any(5)), TypeError, "text"],
    [() => s.resume(any(5)), TypeError, "state"],
    [() => s.resume(any(undefined)), TypeError, "state"],
    [() => new Sampler(any(undefined)), TypeError, "length"],
    [() => new Sampler(any(null)), TypeError, "options"],
    [() => new Sampler({ ...options, order: any(null) }), TypeError, "order"],
    [() => new Sampler({ ...options, order: any(5) }), TypeError, "order"],
    [() => new Sampler({ ...options, order: any("random") }), RangeError, '"random"'],
    [() => new Sampler({ ...options, order: any({ block: 3 }) }), TypeError, "window"],
    [() => new Sampler({ ...options, order: any({ block: 3, window: 1, of: 2 }) }), TypeError, '"of"'],
  );
  for (const [call, kind, word] of rows) {
    checks += 1;
    let said = "nothing was refused";
    try {
      call();
    } catch (error) {
      if (error instanceof kind && error.message.includes(word)) continue;
      said = String(error);
    }
    throw new Error(`${String(call)} is to be refused by a ${kind.name} with ${word}: ${said}`);
  }
  // All of them still work.
  equal([p.slice(), map.decode(map.encode(9)), s.steps], [[...p], 9, 10]);
  equal([...p.places(2, 5n)], p.slice(2, 5));
  equal(sample(Float64Array.of(7, 8, 9), 3, 1).sort(), [7, 8, 9]);
}

function refusals(): void {
  refused(() => new Permutation(-1, 1), "length");
  refused(() => new Permutation(1.5, 1), "length");
  refused(() => new Permutation(2 ** 53 + 2, 1), "length");
  refused(() => Permutation.walk(2n ** 64n, 1), "length");
  refused(() => new Permutation(5, -1), "seed");
  refused(() => new Permutation(5, NaN), "seed");
  refused(() => new Permutation(5, new Uint8Array(31)), "32");
  refused(() => new Permutation(5, 1, { epoch: -1 }), "epoch");
  refused(() => new Permutation(5, 1).at(0.5), "integer");
  refused(() => new Permutation(5, 1).shard(2, 2), "rank 2");
  refused(() => shuffle("text" as unknown as number[], 1), "neither");
  refused(() => shuffle(new DataView(new ArrayBuffer(8)) as unknown as Uint8Array, 1), "neither");
  refused(() => shuffle([1, 2], 2n ** 64n), "seed");
  refused(() => sample(5, 6, 1), "6 of 5");
  refused(() => sample([1, 2, 3], -1, 1), "is -1");
  const options = { length: 10, seed: 1 };
  refused(() => new Sampler({ ...options, length: 0 }), "length");
  refused(() => new Sampler({ ...options, rank: 1 }), "rank 1");
  refused(() => new Sampler({ ...options, batch: 0 }), "batch");
  refused(() => new Sampler({ ...options, tail: "long" as Tail }), "long");
  refused(() => new Sampler({ ...options, order: { block: 0, window: 1 } }), "block");
  refused(() => new Sampler({ ...options, ranks: 0 }), "number of ranks is 0");
  refused(() => new Sampler({ ...options, world: 8 } as typeof options), '"world"');
  refused(() => new Sampler({ ...options, ranks: 2 ** 53, batch: 2 ** 20 }), "2^64");
  refused(() => new Sampler(options).resume("x".repeat(1e6)), "state");
  refused(() => new Sampler(options).resume("\u{1f600}-0-0-0"), "state");
  const s = new Sampler({ ...options, batch: 4 });
  refused(() => s.stateAt(0, 11), "11 items consumed were given, and an epoch has 10:");
  refused(() => s.stateAt(0, -1), "consumed is -1");
  refused(() => s.stateAt(2n ** 64n, 0), "epoch");
  equal([s.stateAt(0, 0), s.stateAt(2n ** 64n - 1n, 10).slice(0, 21)], [s.state, "a-ffffffffffffffff-a-"]);
  equal([...s].length, 3);
  s.nextEpoch();
  equal([s.epoch, s.consumed, s.steps, s.stepsRemaining], [1, 0, 3, 3]);
  s.setEpoch(2n ** 64n - 2n);
  s.nextEpoch();
  refused(() => s.nextEpoch(), "no other follows");
  equal([s.epoch, s.consumed], [2n ** 64n - 1n, 0]);
}

/** An array that shares its memory with what `slice` gives, as Node's Buffer does. */
class Shared extends Uint8Array {
  override slice(start?: number, end?: number): Uint8Array<ArrayBuffer> {
    return this.subarray(start, end) as Uint8Array<ArrayBuffer>;
  }
}

/** What was made of a seed does not change with the key or the options that were passed in. */
function nothingChangesAfterwards(): void {
  const key = new Shared(32).fill(7);
  const options = { epoch: 1 };
  const same = Uint8Array.from(key);
  const made = [new Permutation(300, key, options), Permutation.walk(300, key, options)] as const;
  const [s, map] = [new Sampler({ length: 9, seed: key, batch: 9 }), new Ids(key, options)];
  const batch = s.nextBatch();
  key.fill(8);
  options.epoch = 2;
  equal([...made[0]], [...new Permutation(300, same, { epoch: 1 })]);
  equal(made[0].slice(), [...made[0]]);
  equal([...made[0].inverted().inverted()], [...made[0]]);
  equal([...made[1]], [...Permutation.walk(300, same, { epoch: 1 })]);
  equal(map.encode(5), new Ids(same, { epoch: 1 }).encode(5));
  s.setEpoch(0);
  equal(s.nextBatch(), batch);
  s.nextEpoch();
  const other = new Sampler({ length: 9, seed: same, batch: 9 });
  other.nextEpoch();
  equal(s.nextBatch(), other.nextBatch());
}

/** Loops that never wait, so that nothing is freed after it has gone, do not fill the memory. */
function memoryIsGivenBack(inUse: () => number): void {
  const loop = (work: (k: number) => void, times = 5000): void => {
    work(0);
    const before = inUse();
    for (let k = 1; k < times; k++) work(k);
    equal(inUse(), before);
  };
  loop((k) => sample(1000, 3, k));
  loop((k) => shuffle([1, 2, 3], k));
  loop((k) => {
    const p = new Permutation(300, k);
    const q = p.inverted();
    p.at(5);
    p.free();
    equal(q.position(q.at(5)!), 5);
    q[Symbol.dispose ?? "free"]();
  });
  loop((k) => new Sampler({ length: 300, seed: k }).free());
  loop((k) => new Ids(new Uint8Array(32).fill(k)).free());
  // Iterators that are left early, and those that are dropped.
  const long = new Permutation(1e6, 1);
  loop(() => {
    for (const _ of long) break;
    long[Symbol.iterator]().next();
  }, 500);
  // Inverses have the index of what they are made of.
  equal(long.inverted().at(long.at(5)!), 5);
  const before = inUse();
  const inverses = Array.from({ length: 5000 }, () => long.inverted());
  equal(inverses.every((q) => q.at(5) === inverses[0]!.at(5)), true);
  equal(inUse() - before < 2 ** 20, true);

  const [s, map] = [new Sampler({ length: 9, seed: 1 }), new Ids(new Uint8Array(32))];
  const [left, inverse] = [long[Symbol.iterator](), long.inverted()];
  left.next();
  for (const each of [long, long, s, map]) each.free();
  const uses = [() => long.at(0), () => long.position(0), () => long.slice(0, 1), () => long.inverted()];
  for (const use of [...uses, () => [...long], () => [...left], () => [...long.shard(0, 2)]]) {
    refused(use, "freed");
  }
  for (const use of [() => s.nextBatch(), () => s.state, () => s.epoch, () => s.nextEpoch(), () => s.resume("a")]) {
    refused(use, "freed");
  }
  refused(() => map.encode(1), "freed");
  equal([long.length, inverse.position(inverse.at(9)!)], [1e6, 9]);
}

/** Bounds of a slice are those of an array's. */
function slices(): void {
  const bounds = [Infinity, -Infinity, NaN, 1.5, 3, -1.5, -0.5, 0, -0, 2.999, 8, 9, 1e300, -1e300, 2 ** 64];
  for (const p of [new Permutation(8, 42), Permutation.walk(8, 42)]) {
    const items = [...p];
    for (const start of [undefined, ...bounds]) {
      for (const end of [undefined, ...bounds]) equal(p.slice(start, end), items.slice(start, end));
    }
  }
  const wide = Permutation.walk(8n, 42);
  equal(wide.slice(1.5, Infinity), [...wide].slice(1));
  equal([wide.at(Infinity), wide.at(NaN), wide.position(1.5)], [undefined, undefined, undefined]);
  refused(() => wide.at(0.5), "integer");
  // Holes become items.
  const sparse = shuffle([, 1, , 2], 1);
  equal([sparse.length, Object.keys(sparse).length], [4, 4]);
}

/** What the package stands on: the module, or plain functions that list their objects. */
interface Functions {
  readonly memory: WebAssembly.Memory;
  readonly objects?: ReadonlyMap<number, unknown>;
}

/** Checks what the package stands on, and a few values. */
export function isRight({ objects }: Functions, isPlain: boolean): number {
  equal(objects !== undefined, isPlain);
  equal([...new Permutation(10, 42)], [4, 0, 6, 9, 1, 7, 5, 3, 8, 2]);
  equal(Permutation.walk(1e12, 42).at(15), 0x70366b4dbb);
  return checks;
}

/** Runs all checks, and says how many there were. */
export function check(
  chapters: Record<string, Chapter>,
  functions: Functions,
  isPlain: boolean,
): number {
  const { memory, objects } = functions;
  equal(objects !== undefined, isPlain);
  vectors(chapters);
  reference();
  longArrays();
  longOrders();
  // Plain JavaScript would take minutes to build more.
  if (isPlain) refused(() => new Permutation(2 ** 28 + 1, 42).at(2 ** 27), "Permutation.walk");
  ids();
  nothingChangesAfterwards();
  memoryIsGivenBack(() => objects?.size ?? memory.buffer.byteLength);
  slices();
  refusals();
  refusedItems();
  wrongArguments();
  return checks;
}
