// Shuffles of a GPU's buffers, through WebGPU.
//
// The kernels are those of crates/wgpu. A second module writes their texts and their parameters,
// and what is here records them.

import { integer, named } from "./given.ts";
import { type Options, type Seed, writeSeed } from "./seed.ts";
import { wideBuffer } from "./wasm.ts";

/** The functions of js/webgpu/src/lib.rs. */
interface Kernels {
  readonly memory: WebAssembly.Memory;
  buffer(): number;
  kernel(length: number, itemBytes: number, isUndo: number, isKey: number): number;
}

let kernels: Kernels | undefined;

/** Starts with the second module's code. */
export async function startKernels(code: BufferSource): Promise<void> {
  const { instance } = await WebAssembly.instantiate(code, {});
  kernels = instance.exports as unknown as Kernels;
}

/** What a kernel is launched with. */
interface Kernel {
  readonly text: string;
  readonly params: Uint32Array<ArrayBuffer>;
  readonly groups: number;
  /** The bytes of the look-back's state; 0 if it has none. */
  readonly state: number;
}

function kernelOf(length: number, itemBytes: number, isUndo: boolean, isKey: number): Kernel {
  const { memory, buffer, kernel } = kernels!;
  const address = buffer();
  // The seed and the epoch are where `writeSeed` has put them.
  new BigUint64Array(memory.buffer, address, 5).set(wideBuffer().subarray(0, 5));
  const bytes = kernel(length, itemBytes, Number(isUndo), isKey);
  // The memory may have grown.
  const [groups, state, count] = new Uint32Array(memory.buffer, address, 3) as unknown as [
    number,
    number,
    number,
  ];
  const params = new Uint32Array(memory.buffer, address + 12, count).slice();
  const text = new Uint8Array(memory.buffer, address + 12 + 4 * count, bytes);
  return { text: new TextDecoder().decode(text), params, groups, state: 4 * state };
}

/** Why a GPU cannot be used. What is wrong with an argument is a RangeError or a TypeError. */
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
 * Working memory is kept from call to call: 1 byte for 500 items and, for shuffles within a buffer,
 * as many bytes as the largest of them has.
 */
export class WebGpuShuffler {
  /** The device. */
  readonly device: GPUDevice;
  /** By their texts. */
  readonly #pipelines = new Map<string, GPUComputePipeline>();
  #lost: string | undefined;
  #state: GPUBuffer | undefined;
  #copy: GPUBuffer | undefined;

  /** A shuffler for a program's own device, which may be used as before. */
  constructor(device: GPUDevice) {
    if (kernels === undefined) {
      throw new WebGpuError("no-webassembly", "shuffles on a GPU take WebAssembly: use `shuffle`");
    }
    this.device = device;
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
    const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
    const requiredLimits = { maxBufferSize, maxStorageBufferBindingSize };
    return new WebGpuShuffler(await adapter.requestDevice({ requiredLimits }));
  }

  /**
   * Shuffles the first `length` items of a buffer: item `p[k]` is then at place `k`, for the
   * permutation `p = new Permutation(length, seed, options)`. An item has `itemBytes` bytes, a
   * multiple of 4.
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

  /** Gives back the working memory. What was recorded and not submitted is lost. */
  free(): void {
    this.#state?.destroy();
    this.#copy?.destroy();
    this.#state = this.#copy = undefined;
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
    const kernel = kernelOf(length, itemBytes, isUndo, isKey);
    const encoder = given.encoder ?? device.createCommandEncoder();
    let [from, into] = [buffer, given.into];
    const size = length * itemBytes;
    if (into === undefined) {
      this.#copy = this.#grown(this.#copy, size);
      encoder.copyBufferToBuffer(buffer, 0, this.#copy, 0, size);
      [from, into] = [this.#copy, buffer];
    }
    this.#record(encoder, kernel, from, into, size);
    if (given.encoder === undefined) device.queue.submit([encoder.finish()]);
  }

  /** Checks everything but the seed. */
  #check(buffer: GPUBuffer, length: number, itemBytes: number, into: GPUBuffer | undefined): void {
    if (this.#lost !== undefined) {
      throw new WebGpuError("lost", `the GPU's device is lost (${this.#lost}): open another`);
    }
    if (integer(length, 0, "the length") > MOST_ITEMS) {
      throw new RangeError(`${length} items were given: a GPU shuffles at most ${MOST_ITEMS}`);
    }
    if (integer(itemBytes, 1, "the size of an item") % 4 !== 0 || itemBytes > MOST_BYTES) {
      throw new RangeError(
        `items of ${itemBytes} bytes were given: on a GPU they have a multiple of 4, at most ${MOST_BYTES}`,
      );
    }
    const { maxStorageBufferBindingSize: most } = this.device.limits;
    const size = length * itemBytes;
    if (size > most) {
      throw new RangeError(
        `an array of ${size} bytes was given: the device binds at most ${most}, which can be raised ` +
          "by the limit maxStorageBufferBindingSize when it is requested",
      );
    }
    if (into === buffer) {
      throw new TypeError("the items are to go into their own buffer: leave `into` out for that");
    }
    const usages = into === undefined ? STORAGE | COPY_SRC | COPY_DST : STORAGE;
    for (const of of into === undefined ? [buffer] : [buffer, into]) {
      if (of.size < size) {
        throw new RangeError(`a buffer of ${of.size} bytes was given: the items have ${size}`);
      }
      if ((of.usage & usages) !== usages) {
        const names = usages === STORAGE ? "STORAGE" : "STORAGE, COPY_SRC and COPY_DST";
        throw new TypeError(`a buffer cannot be used by the kernels: create it with ${names}`);
      }
    }
  }

  #record(
    encoder: GPUCommandEncoder,
    { text, params, groups, state }: Kernel,
    from: GPUBuffer,
    into: GPUBuffer,
    size: number,
  ): void {
    const { device } = this;
    const uniform = device.createBuffer({ size: params.byteLength, usage: UNIFORM | COPY_DST });
    device.queue.writeBuffer(uniform, 0, params);
    const bindings: GPUBufferBinding[] = [
      { buffer: uniform },
      { buffer: from, size },
      { buffer: into, size },
    ];
    if (state > 0) {
      this.#state = this.#grown(this.#state, state);
      encoder.clearBuffer(this.#state, 0, state);
      bindings.push({ buffer: this.#state, size: state });
    }
    const pipeline = this.#pipeline(text);
    const group = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: bindings.map((resource, binding) => ({ binding, resource })),
    });
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

  /** Working memory of so many bytes. What was recorded with a smaller one keeps that alive. */
  #grown(buffer: GPUBuffer | undefined, size: number): GPUBuffer {
    if (buffer !== undefined && buffer.size >= size) return buffer;
    return this.device.createBuffer({ size, usage: STORAGE | COPY_DST });
  }
}
