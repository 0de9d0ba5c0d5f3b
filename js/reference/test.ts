// Passes the vectors of the specification, one chapter after the other:
//
//     node js/reference/test.ts [folder of the vectors]
//
// Node takes the types away by itself from version 22.18 on. `js/test/run` compiles for older ones.

import { readFileSync } from "node:fs";
import { join as pathOf } from "node:path";

import { batch, draw } from "./src/draw.ts";
import * as families from "./src/families.ts";
import type { Bijection, Family } from "./src/families.ts";
import * as generators from "./src/generators.ts";
import { KeyStream, child, domains, philox } from "./src/keys.ts";
import type { Block } from "./src/keys.ts";
import * as orders from "./src/orders.ts";
import { Sampler, inBlocks, sequential, shuffled } from "./src/sampler.ts";
import type { Orders, Tail } from "./src/sampler.ts";
import * as words from "./src/words.ts";

/** A case, whose fields have the types of schema.json; what was read of it is remembered. */
class Case {
  readonly #fields: Record<string, unknown>;
  readonly #read = new Set<string>();

  constructor(fields: Record<string, unknown>) {
    this.#fields = fields;
  }

  get<T>(name: string): T {
    if (!(name in this.#fields)) {
      throw new Error(`there is no ${name}`);
    }
    this.#read.add(name);
    return this.#fields[name] as T;
  }

  text = (name: string): string => this.get(name);
  count = (name: string): number => this.get(name);
  counts = (name: string): number[] => this.get(name);
  word = (name: string): bigint => BigInt(this.text(name));
  words = (name: string): bigint[] => this.get<string[]>(name).map(BigInt);
  narrowWords = (name: string): number[] => this.words(name).map(Number);
  seed = (): words.Seed => words.parseSeed(this.text("seed"));
  length = (): bigint => this.word("length");

  unread(): string[] {
    return Object.keys(this.#fields).filter((name) => !this.#read.has(name));
  }

  toString(): string {
    return JSON.stringify(this.#fields).slice(0, 400);
  }
}

function equal(ours: unknown, theirs: unknown): void {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_, x: unknown) => (typeof x === "bigint" ? `0x${x.toString(16)}` : x)) ??
    "nothing";
  if (text(ours) !== text(theirs)) {
    throw new Error(`${text(ours).slice(0, 200)} should be ${text(theirs).slice(0, 200)}`);
  }
}

/** Compares a permutation with the head and the digest of a case. */
function listed(of: Case, permutation: number[]): void {
  const head = of.counts("head");
  equal(permutation.slice(0, head.length), head);
  equal(BigInt(permutation.length), of.length());
  equal(words.digest(permutation), of.word("digest"));
}

function isRefused(action: () => unknown): boolean {
  try {
    action();
    return false;
  } catch {
    return true;
  }
}

const FAMILIES: Record<string, Family> = {
  "MulXorshift<10>": families.mulXorshift(10),
  "MulXorshift<5>": families.mulXorshift(5),
  "VariablePhilox<24>": families.VariablePhilox,
  "RandomSign<VariablePhilox<24>>": families.SignedPhilox,
  "GridFeistel<12>": families.GridFeistel,
  Lcg: families.Lcg,
  Affine: families.Affine,
};

const GENERATORS: Record<string, generators.WordGenerator> = {
  Philox4x32Rng: generators.Philox4x32Rng,
  Lcg32: generators.Lcg32,
  Lcg64: generators.Lcg64,
  Mwc: generators.Mwc,
  Xorwow: generators.Xorwow,
  LaggedFibonacci521: generators.LaggedFibonacci521,
  LaggedFibonacci1279: generators.LaggedFibonacci1279,
  XorShift1024Weyl: generators.XorShift1024Weyl,
};

function named<T>(table: Record<string, T>, name: string): T {
  const value = table[name];
  if (value === undefined) {
    throw new Error(`${name} is not known`);
  }
  return value;
}

const draws = (length: bigint, seed: words.Seed): { order: number[]; drawn: number } => {
  const stream = new KeyStream(seed, domains.exact(length));
  let drawn = 0;
  const order = draw(Number(length), () => (drawn++, stream.word64()));
  return { order, drawn };
};

function points(of: Case, f: Bijection): void {
  equal(of.words("slots").map(f.forward), of.words("indexes"));
  equal(of.words("indexes").map(f.inverse), of.words("slots"));
}

/** The bijection of `new` or `walk`, and its permutation. */
function permutationOf(of: Case): { f: Bijection; order: number[] } {
  const f = named<Family>({ new: families.Standard, walk: orders.walk }, of.text("order"))(
    of.length(),
    of.seed(),
  );
  return { f, order: orders.compact(f, Number(of.length())) };
}

function cursorOf(of: Case): { at?: orders.Position; order: number[]; text: string } {
  const { f, order } = permutationOf(of);
  const [text, inverted] = [of.text("text"), of.get<boolean>("inverted")];
  const at = orders.parseCursor(text, f, of.length(), inverted);
  return {
    ...(at === undefined ? {} : { at }),
    order: inverted ? orders.inverse(order) : order,
    text,
  };
}

const blocksOf = (of: Case): orders.BlockShuffle =>
  orders.blockShuffle(of.length(), of.word("block"), of.word("window"), of.seed());

function ordersOf(of: Case): Orders {
  const order = of.text("order");
  return order === "blocks"
    ? inBlocks(of.word("block"), of.word("window"))
    : named<Orders>({ shuffled, sequential }, order);
}

function samplerOf(of: Case): Sampler {
  const [rank, ranks, batch] = ["rank", "ranks", "batch"].map((name) => BigInt(of.count(name))) as [
    bigint,
    bigint,
    bigint,
  ];
  return new Sampler(
    of.length(),
    of.seed(),
    { rank, ranks, batch, tail: of.text("tail") as Tail },
    ordersOf(of),
  );
}

type Check = (of: Case) => void;

const good = generators.multipliers();

const CHAPTERS: Record<string, Record<string, Check>> = {
  "01-words": {
    bits: (of) => equal(words.bits(of.length()), of.count("bits")),
    products: (of) => {
      const [a, b] = [of.word("a"), of.word("b")];
      equal([(a * b) & words.M64, (a * b) >> 64n], [of.word("low"), of.word("high")]);
      // Of words of 32 bits, by a function of ours.
      const [x, y] = [words.low(a), words.high(b)];
      equal(BigInt(words.highProduct(x, y)), (BigInt(x) * BigInt(y)) >> 32n);
    },
    odd_inverses: (of) =>
      equal(words.oddInverse(of.word("number"), of.count("bits")), of.word("inverse")),
    seeds: (of) => {
      const seed = words.parseSeed(of.text("text"));
      equal([seed.words, seed.epoch], [of.words("words"), of.word("epoch")]);
      equal(words.seedText(seed), of.text("written"));
    },
    refused_seeds: (of) =>
      equal(
        isRefused(() => words.parseSeed(of.text("text"))),
        true,
      ),
    digests: (of) => equal(words.digest(of.words("values")), of.word("digest")),
    checks: (of) => equal(words.check(of.words("values")), of.word("check")),
  },
  "02-philox": {
    blocks: (of) => {
      const key = of.narrowWords("key") as [number, number];
      equal(philox(key, of.narrowWords("counter") as Block), of.narrowWords("output"));
    },
  },
  "03-keys": {
    domains: (of) => {
      const value = of.word("value");
      const word = named(
        {
          bits: () => domains.bits(Number(value)),
          exact: () => domains.exact(value),
          blocks: () => domains.blocks,
          generator: () => domains.generator(Number(value)),
        },
        of.text("kind"),
      )();
      equal(BigInt(word), of.word("word"));
    },
    streams: (of) => {
      const stream = new KeyStream(of.seed(), Number(of.word("domain")));
      equal(
        of.words("words").map(() => BigInt(stream.word())),
        of.words("words"),
      );
    },
    children: (of) =>
      equal(words.seedText(child(of.seed(), Number(of.word("domain")))), of.text("child")),
  },
  "04-draws": {
    batches: (of) => {
      const { count, product } = batch(of.word("range"));
      equal([Number(count), product], [of.count("count"), of.word("product")]);
    },
    permutations: (of) => {
      const { order, drawn } = draws(of.length(), of.seed());
      equal(drawn, of.count("drawn"));
      listed(of, order);
    },
  },
  "05-families": {
    chains: (of) => {
      const { bits, increments, multipliers } = families.chainKey(10, of.length(), of.seed());
      equal(bits, of.count("bits"));
      equal([increments, multipliers], [of.words("increments"), of.words("multipliers")]);
    },
    points: (of) => {
      const f = named(FAMILIES, of.text("family"))(of.length(), of.seed());
      equal(f.last, of.word("last"));
      points(of, f);
    },
  },
  "06-compaction": {
    lists: (of) =>
      equal(
        orders.compact(families.listed(of.counts("bijection")), Number(of.length())),
        of.counts("compacted"),
      ),
    families: (of) => {
      const f = named(FAMILIES, of.text("family"))(of.length(), of.seed());
      listed(of, orders.compact(f, Number(of.length())));
    },
    keyed: (of) => {
      const f = families.philoxKeyed(of.count("bits"), of.narrowWords("keys"));
      listed(of, orders.compact(f, Number(of.length())));
    },
    standard: (of) => listed(of, orders.order(Number(of.length()), of.seed())),
  },
  "07-walk": {
    walked_chains: (of) => {
      const f = orders.cycleWalk(families.mulXorshift(10))(of.length(), of.seed());
      listed(of, orders.compact(f, Number(of.length())));
    },
    permutations: (of) =>
      listed(of, orders.compact(orders.walk(of.length(), of.seed()), Number(of.length()))),
    places: (of) => {
      const f = orders.walk(of.length(), of.seed());
      equal(of.words("places").map(f.forward), of.words("items"));
      equal(of.words("items").map(f.inverse), of.words("places"));
    },
  },
  "08-permutations": {
    rows: (of) => {
      const [first, length] = [of.word("first"), Number(of.length())];
      const rows = Array.from({ length: of.count("count") }, (_, k) =>
        orders.row(length, of.seed(), first + BigInt(k)),
      );
      const values = rows.flat();
      equal(values.slice(0, 12), of.counts("head"));
      equal(words.digest(values), of.word("digest"));
    },
    inverses: (of) => listed(of, orders.inverse(permutationOf(of).order)),
    shards: (of) => {
      const share = orders.shard(of.length(), BigInt(of.count("rank")), BigInt(of.count("ranks")));
      equal(share, [of.word("start"), of.word("end")]);
    },
    samples: (of) => {
      const items = orders.sample(of.length(), of.count("count"), of.seed());
      equal(items, of.words("items"));
    },
    ends: (of) => {
      const [places, items] = [of.words("places"), of.words("items")];
      const first = items.slice(0, items.length / 2);
      equal(orders.sample(of.length(), first.length, of.seed()), first);
      // The last ones, from the last slot backwards.
      const { last, forward } = families.Standard(of.length(), of.seed());
      const found: bigint[] = [];
      for (let slot = last; found.length < items.length - first.length; slot--) {
        if (forward(slot) < of.length()) found.unshift(forward(slot));
      }
      equal(found, items.slice(first.length));
      equal(places.at(-1), of.length() - 1n);
    },
    cursors: (of) => {
      const { at, order } = cursorOf(of);
      equal(at?.left, BigInt(of.count("remaining")));
      const { next, left, stride } = at as orders.Position;
      const count = Math.min(Number(left), 5);
      const items = Array.from(
        { length: count },
        (_, k) => order[Number(next + BigInt(k) * stride)],
      );
      equal(items, of.counts("head"));
      // Our own text of the same position is accepted, too.
      const [f, inverted] = [permutationOf(of).f, of.get<boolean>("inverted")];
      const own = orders.cursorText(f, of.length(), inverted, { next, left, stride });
      equal(orders.parseCursor(own, f, of.length(), inverted), { next, left, stride });
    },
    refused_cursors: (of) => equal(cursorOf(of).at ?? "refused", "refused"),
  },
  "09-blocks": {
    reading: (of) => {
      const f = blocksOf(of);
      equal(
        of.counts("blocks").map((_, k) => Number(f.block(BigInt(k)))),
        of.counts("blocks"),
      );
    },
    permutations: (of) => listed(of, orders.compact(blocksOf(of), Number(of.length()))),
    points: (of) => points(of, blocksOf(of)),
  },
  "10-sampler": {
    epochs: (of) => {
      const sampler = samplerOf(of);
      sampler.setEpoch(of.word("epoch"));
      const steps = sampler.stepsRemaining();
      const batches: number[][] = [];
      for (let items = sampler.nextBatch(); items !== undefined; items = sampler.nextBatch()) {
        batches.push(items.map(Number));
      }
      equal(batches, of.get("batches"));
      equal(Number(steps), batches.length);
      equal(sampler.consumed, of.word("consumed"));
    },
    resumes: (of) => {
      const sampler = samplerOf(of);
      equal(sampler.resume(of.text("text")), true);
      equal(sampler.state(), of.text("text"));
      equal(sampler.stepsRemaining(), BigInt(of.count("steps_remaining")));
      equal(sampler.nextBatch()?.map(Number), of.counts("taken"));
      equal(sampler.state(), of.text("after"));
      equal(samplerOf(of).stateAt(sampler.epoch, sampler.consumed), of.text("after"));
    },
    refused_states: (of) => {
      const by = { rank: 0n, ranks: 1n, batch: 1n, tail: "pad" } as const;
      const sampler = new Sampler(of.length(), of.seed(), by, ordersOf(of));
      equal(sampler.resume(of.text("text")), false);
    },
  },
  "11-generators": {
    starts: (of) => {
      const next = named(GENERATORS, of.text("generator")).words(of.seed(), of.word("stream"));
      equal(
        of.words("words").map(() => BigInt(next())),
        of.words("words"),
      );
    },
    numbers: (of) => {
      const generator = named(GENERATORS, of.text("generator"));
      const kind = of.text("kind") as generators.Kind;
      const [first, count, length] = [of.word("first"), of.count("count"), Number(of.length())];
      const values = generators.rows(generator, kind, of.seed(), first, count, length);
      const head = of.words("bits_of_head");
      equal(values.slice(0, head.length), head);
      equal(words.digest(values), of.word("digest"));
    },
    bytes: (of) => {
      const next = named(GENERATORS, of.text("generator")).words(of.seed(), of.word("stream"));
      const expected = of.text("bytes");
      let digits = "";
      while (digits.length < expected.length) {
        const word = next();
        for (let shift = 0; shift < 32; shift += 8) {
          digits += ((word >>> shift) & 0xff).toString(16).padStart(2, "0");
        }
      }
      equal(digits.slice(0, expected.length), expected);
    },
    scaled: (of) => {
      const kind = of.text("kind") as generators.Kind;
      const next = generators.numbers(kind, generators.Philox4x32Rng.words(of.seed(), 0n));
      const [mean, deviation] = [of.count("mean"), of.count("deviation")];
      const expected = of.words("bits_of_head");
      equal(
        expected.map(() => generators.scaled(kind, next(), mean, deviation)),
        expected,
      );
    },
    leapfrog: (of) => {
      const next = named(GENERATORS, of.text("generator")).words(of.seed(), 0n);
      const [count, stream] = [of.count("count"), Number(of.word("stream"))];
      const expected = of.words("words");
      const all = Array.from({ length: stream + expected.length * count }, () => BigInt(next()));
      equal(
        expected.map((_, k) => all[stream + k * count]),
        expected,
      );
    },
    different: (of) => {
      // The cases have the multipliers in order.
      const multiplier = good.next().value as bigint;
      equal(multiplier, of.word("multiplier"));
      const next = generators.mwc(multiplier).words(of.seed(), of.word("stream"));
      equal(
        of.words("words").map(() => BigInt(next())),
        of.words("words"),
      );
    },
  },
};

/** Checks a chapter, and returns how many cases fail. */
function chapter(folder: string, name: string, checks: Record<string, Check>): number {
  const file = JSON.parse(readFileSync(pathOf(folder, `${name}.json`), "utf8")) as {
    specification: string;
    cases: Record<string, Record<string, unknown>[]>;
  };
  equal(file.specification, "1");
  equal(Object.keys(file.cases).sort(), Object.keys(checks).sort());
  const begun = performance.now();
  let [count, failed] = [0, 0];
  for (const [group, cases] of Object.entries(file.cases)) {
    const check = named(checks, group);
    for (const fields of cases) {
      const of = new Case(fields);
      count++;
      try {
        check(of);
        equal(of.unread(), []);
      } catch (error) {
        failed++;
        if (failed <= 5) {
          console.error(`${name}: ${group}: ${String(error)}\n    ${of}`);
        }
      }
    }
  }
  const took = Math.round(performance.now() - begun);
  console.log(`${name.padEnd(16)} ${count - failed} of ${count} cases, ${took} ms`);
  return failed;
}

const folder = process.argv[2] ?? "crates/vectors/data";
let failed = 0;
for (const [name, checks] of Object.entries(CHAPTERS)) {
  failed += chapter(folder, name, checks);
}
process.exitCode = failed === 0 ? 0 : 1;
