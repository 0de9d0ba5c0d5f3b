// Shuffles of a GPU's buffers, through WebGPU.
//
// The kernels, and which of them are launched on what, are those of crates/wgsl: a second module
// plans a shuffle, and what is here records it.

import { instantiated } from "./code.ts";
import { integer, named } from "./given.ts";
import { code } from "./module_webgpu.js";
import { type Options, type Seed, writeSeed } from "./seed.ts";
import { wideBuffer } from "./wasm.ts";

/** The functions of js/webgpu/src/lib.rs. */
interface Kernels {
  readonly memory: WebAssembly.Memory;
  buffer(): number;
  plan(length: number, itemBytes: number, isUndo: number, isKey: number): number;
  answer(): number;
}

let started: Kernels | undefined;

/** The functions of the second module, which the first call starts. */
function kernels(): Kernels {
  started ??= instantiated(code) as unknown as Kernels | undefined;
  if (started === undefined) {
    throw new WebGpuError("no-webassembly", "shuffles on a GPU take WebAssembly: use `shuffle`");
  }
  return started;
}

/** Bytes that a kernel works on, of the arrays `"Source"` and `"Target"` or of working memory. */
interface Bound {
  readonly number: number;
  readonly place: string;
  readonly offset: number;
  readonly bytes: number;
  /** Whether they have to be zero. */
  readonly isCleared: boolean;
}

/** A kernel with what it is launched on. */
interface Launch {
  /** The number of its text. */
  readonly text: number;
  readonly groups: number;
  readonly params: readonly number[];
  readonly bindings: readonly Bound[];
}

/** What a shuffle launches. */
interface Plan {
  readonly texts: readonly string[];
  readonly launches: readonly Launch[];
}

/** What exceeds a limit of the device. */
interface Excess {
  readonly what: string;
  readonly asked: number;
  readonly most: number;
}

/** The place of the state of launches that have a number each, and that number among parameters. */
const [LAUNCHES, LAUNCH, MOST_LAUNCHES] = ["Launches", 3, 127] as const;

/** The least bytes of an array that is partitioned, which tests change. */
export const tuning = { partitioned: 2 ** 26 };

/** Whether a place in working memory is for arrays that are partitioned. */
const isForBuckets = (place: string): boolean => /^(Counts|Records)/.test(place);

/** Why a GPU cannot be used. A wrong argument is a RangeError or a TypeError instead. */
export class WebGpuError extends Error {
  override readonly name = "WebGpuError";
  /** There is no WebGPU or no GPU, there is no WebAssembly, or the device is lost. */
  readonly reason: "no-gpu" | "no-webassembly" | "lost";

  constructor(reason: "no-gpu" | "no-webassembly" | "lost", message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The options of a shuffle on a GPU. */
export interface GpuOptions extends Options {
  /** The buffer that gets the items in their new order; without it they stay in their own. */
  readonly into?: GPUBuffer;
  /** Where the commands are recorded; without it they are submitted at once. */
  readonly encoder?: GPUCommandEncoder;
}

/** The most items: as many as a word of a GPU can count. */
const MOST_ITEMS = 2 ** 32 - 1;

/** The most bytes of an item, which a kernel moves word by word. */
const MOST_BYTES = 2 ** 20;

// GPUBufferUsage, which Node does not have.
const [COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x4, 0x8, 0x40, 0x80];

/**
 * Shuffles arrays in a GPU's buffers, in the order of `shuffle` for the same length, seed and
 * epoch. Nothing is copied to the CPU, and no call waits for the GPU.
 *
 * Working memory is kept from call to call: 1 byte for 500 items; for shuffles within a buffer, as
 * many bytes as the largest of them has; for items that are no whole words 4 bytes each; and for an
 * array of 64 MiB and more of items of 4 bytes, or to undo a shuffle of items of 8 or 16, up to
 * twice its size and 8 bytes an item. The last is asked for by the first call that could use it,
 * which does not wait for it: that call moves the array without it, in more time, and so do all
 * others if there is no such memory.
 */
export class WebGpuShuffler {
  /** The device. */
  readonly device: GPUDevice;
  /** By their texts. */
  readonly #pipelines = new Map<string, GPUComputePipeline>();
  readonly #hasSubgroups: boolean;
  #lost: string | undefined;
  /** Working memory by its place. */
  #memory = new Map<string, GPUBuffer>();
  /** The launches that have used the state that they share. */
  #launches = 0;
  /** Whether buckets are being asked for, and the fewest bytes of them that were refused. */
  #isAsking = false;
  #refused = Infinity;

  /** A shuffler for a program's own device, which may be used as before. */
  constructor(device: GPUDevice) {
    kernels();
    this.device = device;
    // Without their numbers threads of subgroups cannot be numbered.
    const isNumbered = globalThis.navigator?.gpu?.wgslLanguageFeatures.has("subgroup_id") ?? false;
    this.#hasSubgroups = isNumbered && device.features.has("subgroups");
    void device.lost.then(({ message, reason }) => (this.#lost = message || reason));
  }

  /**
   * A shuffler on the fastest GPU, with the largest buffers that it has. Where there is no GPU for
   * pages, the promise is rejected with a {@link WebGpuError}: use `shuffle`, of an array.
   */
  static async open(): Promise<WebGpuShuffler> {
    const gpu = globalThis.navigator?.gpu as GPU | undefined;
    const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) {
      throw new WebGpuError("no-gpu", "there is no GPU that a page can use: use `shuffle`");
    }
    const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize } =
      adapter.limits;
    const device = await adapter.requestDevice({
      requiredLimits: { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize },
      requiredFeatures: adapter.features.has("subgroups") ? ["subgroups"] : [],
    });
    return new WebGpuShuffler(device);
  }

  /**
   * Shuffles the first `length` items of a buffer: item `p[k]` is then at place `k`, for the
   * permutation `p = new Permutation(length, seed, options)`. An item has `itemBytes` bytes, of
   * which multiples of 4 are fastest; a buffer holds whole words of 4.
   *
   * Arrays larger than the device binds move part by part, which takes longer, except for items
   * that are no whole words: of these there is a RangeError.
   *
   * The buffer needs the usage STORAGE, as has `options.into`; without that it needs COPY_SRC and
   * COPY_DST too. What the GPU itself refuses, such as a buffer that is mapped or no memory for
   * working memory, is an error of the device, as for any other command.
   */
  shuffle(
    buffer: GPUBuffer,
    length: number,
    itemBytes: number,
    seed: Seed,
    options?: GpuOptions,
  ): void {
    this.#move(buffer, length, itemBytes, seed, options, false);
  }

  /** Undoes {@link WebGpuShuffler.shuffle} with the same length, seed and epoch. */
  unshuffle(
    buffer: GPUBuffer,
    length: number,
    itemBytes: number,
    seed: Seed,
    options?: GpuOptions,
  ): void {
    this.#move(buffer, length, itemBytes, seed, options, true);
  }

  /** Frees the working memory. Commands that were recorded but not submitted are lost. */
  free(): void {
    for (const buffer of this.#memory.values()) buffer.destroy();
    this.#memory = new Map();
    this.#refused = Infinity;
  }

  #move(
    buffer: GPUBuffer,
    length: number,
    itemBytes: number,
    seed: Seed,
    options: GpuOptions | undefined,
    isUndo: boolean,
  ): void {
    const given = named(options, ["epoch", "into", "encoder"], "a shuffle on a GPU");
    this.#check(buffer, length, itemBytes, given.into);
    const isKey = writeSeed(seed, given.epoch === undefined ? undefined : { epoch: given.epoch });
    if (length === 0) return;
    const { device } = this;
    const size = wholeWords(length * itemBytes);
    const plan = this.#plan(length, itemBytes, isUndo, isKey);
    const encoder = given.encoder ?? device.createCommandEncoder();
    let [from, into] = [buffer, given.into];
    if (into === undefined) {
      const copy = this.#grown("Copy", size);
      encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
      [from, into] = [copy, buffer];
    }
    const needed = bytesOf(plan);
    for (const launch of plan.launches) {
      const places = new Map([["Source", from], ["Target", into]]);
      for (const { place } of launch.bindings) {
        if (!places.has(place)) places.set(place, this.#grown(place, needed.get(place)!));
      }
      this.#record(encoder, plan.texts[launch.text]!, launch, places);
    }
    if (given.encoder === undefined) device.queue.submit([encoder.finish()]);
  }

  /** The plan of a shuffle, for which there is memory as far as is known. */
  #plan(length: number, itemBytes: number, isUndo: boolean, isKey: number): Plan {
    const { limits } = this.device;
    const planned = (partitioned: number): Plan => {
      const { memory, buffer, plan, answer } = kernels();
      const words = new BigUint64Array(memory.buffer, buffer(), 12);
      // The seed and the epoch are where `writeSeed` has put them.
      words.set(wideBuffer().subarray(0, 5));
      const others = [
        limits.maxStorageBufferBindingSize,
        limits.maxBufferSize,
        limits.minStorageBufferOffsetAlignment,
        Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
        limits.maxComputeWorkgroupStorageSize,
        partitioned,
        this.#hasSubgroups,
      ];
      words.set(others.map(BigInt), 5);
      const bytes = plan(length, itemBytes, Number(isUndo), isKey);
      // The memory may have grown.
      const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), bytes));
      const made = JSON.parse(text) as Plan | Excess;
      if ("launches" in made) return made;
      const most = Math.floor((length * made.most) / made.asked);
      throw new RangeError(
        `${length} items of ${itemBytes} bytes were given: the device's limit of ${made.most} for ` +
          `${made.what} allows at most ${most}`,
      );
    };
    const plan = planned(tuning.partitioned);
    return this.#hasBuckets(bytesOf(plan)) ? plan : planned(Number.MAX_SAFE_INTEGER);
  }

  /** Whether there is memory for buckets. What is missing is asked for, for later calls. */
  #hasBuckets(needed: Map<string, number>): boolean {
    const missing = [...needed].filter(
      ([place, bytes]) => isForBuckets(place) && !this.#has(place, bytes),
    );
    if (missing.length === 0) return true;
    const all = missing.reduce((sum, [, bytes]) => sum + bytes, 0);
    if (this.#isAsking || all >= this.#refused) return false;
    this.#isAsking = true;
    const { device } = this;
    const memory = this.#memory;
    device.pushErrorScope("out-of-memory");
    const made = missing.map(([place, size]) => [place, this.#buffer(size)] as const);
    const end = (isRefused: boolean): void => {
      this.#isAsking = false;
      if (isRefused) this.#refused = Math.min(all, this.#refused);
      // After `free` nobody waits for it.
      const isWanted = !isRefused && memory === this.#memory;
      for (const [place, buffer] of made) {
        if (isWanted) memory.set(place, buffer);
        else buffer.destroy();
      }
    };
    device.popErrorScope().then((error) => end(error !== null), () => end(true));
    return false;
  }

  /** Checks everything but the seed. */
  #check(buffer: GPUBuffer, length: number, itemBytes: number, into: GPUBuffer | undefined): void {
    if (this.#lost !== undefined) {
      throw new WebGpuError("lost", `the GPU's device is lost (${this.#lost}): open another`);
    }
    if (integer(length, 0, "the length") > MOST_ITEMS) {
      throw new RangeError(`${length} items were given: a GPU shuffles at most ${MOST_ITEMS}`);
    }
    if (integer(itemBytes, 1, "the size of an item") > MOST_BYTES) {
      throw new RangeError(
        `items of ${itemBytes} bytes were given: on a GPU they have at most ${MOST_BYTES}`,
      );
    }
    const size = wholeWords(length * itemBytes);
    if (into === buffer) {
      throw new TypeError("the items are to go into their own buffer: leave `into` out for that");
    }
    const usages = into === undefined ? STORAGE | COPY_SRC | COPY_DST : STORAGE;
    for (const of of into === undefined ? [buffer] : [buffer, into]) {
      if (of.size < size) {
        throw new RangeError(
          `a buffer of ${of.size} bytes was given: the items have ${size}, in whole words`,
        );
      }
      if ((of.usage & usages) !== usages) {
        const names = usages === STORAGE ? "STORAGE" : "STORAGE, COPY_SRC and COPY_DST";
        throw new TypeError(`a buffer cannot be used by the kernels: create it with ${names}`);
      }
    }
  }

  #record(
    encoder: GPUCommandEncoder,
    text: string,
    { groups, params, bindings }: Launch,
    places: ReadonlyMap<string, GPUBuffer>,
  ): void {
    const { device } = this;
    const words = Uint32Array.from(params);
    if (places.has(LAUNCHES)) words[LAUNCH] = this.#launches;
    const uniform = device.createBuffer({ size: words.byteLength, usage: UNIFORM | COPY_DST });
    device.queue.writeBuffer(uniform, 0, words);
    const entries: GPUBindGroupEntry[] = [{ binding: 0, resource: { buffer: uniform } }];
    for (const { number, place, offset, bytes, isCleared } of bindings) {
      const buffer = places.get(place)!;
      if (isCleared) encoder.clearBuffer(buffer, offset, bytes);
      entries.push({ binding: number, resource: { buffer, offset, size: bytes } });
    }
    const pipeline = this.#pipeline(text);
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    const columns = Math.min(groups, device.limits.maxComputeWorkgroupsPerDimension);
    pass.dispatchWorkgroups(columns, Math.ceil(groups / columns));
    pass.end();
  }

  #pipeline(text: string): GPUComputePipeline {
    let pipeline = this.#pipelines.get(text);
    if (pipeline === undefined) {
      const { device } = this;
      const module = device.createShaderModule({ code: text });
      pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
      this.#pipelines.set(text, pipeline);
    }
    return pipeline;
  }

  /**
   * Working memory of at least `bytes`. What was recorded with a smaller one keeps that alive.
   * Each launch gets another number of the state that they share, which is never cleared: a new one
   * has zeros, and no number comes twice.
   */
  #grown(place: string, bytes: number): GPUBuffer {
    const isSpent = place === LAUNCHES && this.#launches === MOST_LAUNCHES;
    if (isSpent || !this.#has(place, bytes)) {
      // For lengths that grow a power of two.
      const size = place === LAUNCHES ? 2 ** Math.ceil(Math.log2(bytes)) : bytes;
      this.#memory.set(place, this.#buffer(size));
      if (place === LAUNCHES) this.#launches = 0;
    }
    if (place === LAUNCHES) this.#launches += 1;
    return this.#memory.get(place)!;
  }

  #has(place: string, bytes: number): boolean {
    return (this.#memory.get(place)?.size ?? 0) >= bytes;
  }

  #buffer(size: number): GPUBuffer {
    return this.device.createBuffer({ size, usage: STORAGE | COPY_DST });
  }
}

/** A number of bytes, rounded up to words. */
const wholeWords = (bytes: number): number => Math.ceil(bytes / 4) * 4;

/** The bytes of each place that a plan works on. */
function bytesOf({ launches }: Plan): Map<string, number> {
  const needed = new Map<string, number>();
  for (const { place, offset, bytes } of launches.flatMap(({ bindings }) => bindings)) {
    needed.set(place, Math.max(offset + bytes, needed.get(place) ?? 0));
  }
  return needed;
}
