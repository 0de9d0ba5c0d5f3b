// What is checked in a browser with WebGPU: the GPU moves items as the first module's orders say.

import { type Seed, Permutation, shuffle } from "bijective-shuffle";
import { WebGpuError, WebGpuShuffler } from "bijective-shuffle/webgpu";

let checks = 0;

function assert(condition: boolean, what: string): void {
  checks += 1;
  if (!condition) throw new Error(what);
}

// Those of GPUBufferUsage, which TypeScript does not know.
const [MAP_READ, COPY_SRC, COPY_DST, STORAGE] = [0x1, 0x4, 0x8, 0x80] as const;
const ALL = STORAGE | COPY_SRC | COPY_DST;

/** What stands behind the items, and has to stay. */
const GUARD = 0xa5;

function upload(device: GPUDevice, items: Uint8Array): GPUBuffer {
  const size = Math.ceil(items.length / 4) * 4 + 8;
  const buffer = device.createBuffer({ size, usage: ALL, mappedAtCreation: true });
  const bytes = new Uint8Array(buffer.getMappedRange());
  bytes.fill(GUARD, items.length);
  bytes.set(items);
  buffer.unmap();
  return buffer;
}

/** The first `length` bytes of a buffer. Checks that those after them did not change. */
async function download(device: GPUDevice, buffer: GPUBuffer, length: number): Promise<Uint8Array> {
  const { size } = buffer;
  const staging = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const bytes = new Uint8Array(staging.getMappedRange()).slice();
  staging.destroy();
  const rest = bytes.subarray(length);
  assert(rest.every((byte) => byte === GUARD), "nothing behind the items is written");
  return bytes.subarray(0, length);
}

const same = (a: Uint8Array, b: Uint8Array): boolean => a.every((byte, k) => byte === b[k]);

/** Items of some bytes, each of which tells its item and its place there. */
function itemsOf(order: ArrayLike<number>, itemBytes: number): Uint8Array {
  const items = new Uint8Array(order.length * itemBytes);
  for (let k = 0; k < order.length; k++) {
    const word = Math.imul(order[k]! + 1, 0x9e3779b1);
    for (let j = 0; j < itemBytes; j++) {
      items[k * itemBytes + j] = (word >>> (8 * (3 - (j % 4)))) ^ (j << 1);
    }
  }
  return items;
}

/** All ways there and back, for one length, size and seed. */
async function moves(
  gpu: WebGpuShuffler,
  length: number,
  itemBytes: number,
  seed: Seed,
  epoch = 0,
): Promise<void> {
  const { device } = gpu;
  const what = `${length} items of ${itemBytes} bytes, seed ${seed}`;
  const inOrder = Uint32Array.from({ length }, (_, k) => k);
  const before = itemsOf(inOrder, itemBytes);
  const after = itemsOf(shuffle(inOrder, seed, { epoch }), itemBytes);
  const buffer = upload(device, before);
  const into = upload(device, before.slice().fill(7));
  const back = upload(device, before.slice().fill(9));
  const bytes = async (of: GPUBuffer) => await download(device, of, before.length);
  // One encoder for two calls: the second reads what the first writes.
  const encoder = device.createCommandEncoder();
  gpu.shuffle(buffer, length, itemBytes, seed, { epoch, into, encoder });
  gpu.unshuffle(into, length, itemBytes, seed, { epoch, into: back, encoder });
  device.queue.submit([encoder.finish()]);
  assert(same(await bytes(into), after), `${what}: into`);
  assert(same(await bytes(back), before), `${what}: and back`);
  assert(same(await bytes(buffer), before), `${what}: the source`);
  gpu.shuffle(buffer, length, itemBytes, seed, { epoch });
  assert(same(await bytes(buffer), after), `${what}: in place`);
  gpu.unshuffle(buffer, length, itemBytes, seed, { epoch });
  assert(same(await bytes(buffer), before), `${what}: in place and back`);
  for (const each of [buffer, into, back]) each.destroy();
}

/** What tests change. */
interface Tuning {
  partitioned: number;
}

/** Arrays that are partitioned as soon as there is memory for buckets, and not before. */
async function partitions(
  device: GPUDevice,
  length: number,
  itemBytes: number,
  isRefused: boolean,
): Promise<void> {
  const gpu = new WebGpuShuffler(device);
  let passes = 0;
  device.createShaderModule = (descriptor) => {
    if (descriptor.code.includes("const bs_BINS")) passes += 1;
    return GPUDevice.prototype.createShaderModule.call(device, descriptor);
  };
  if (isRefused) {
    device.popErrorScope = async () => {
      await GPUDevice.prototype.popErrorScope.call(device);
      return new GPUOutOfMemoryError("there is none");
    };
  }
  const inOrder = Uint32Array.from({ length }, (_, k) => k);
  const before = itemsOf(inOrder, itemBytes);
  const after = itemsOf(shuffle(inOrder, 42), itemBytes);
  const [from, into, back] = [before, before.slice().fill(7), before.slice().fill(9)].map(
    (bytes) => upload(device, bytes),
  ) as [GPUBuffer, GPUBuffer, GPUBuffer];
  gpu.shuffle(from, length, itemBytes, 42, { into: back });
  assert(same(await download(device, back, before.length), after), `${length}: the first call`);
  assert(passes === 0, "the first call does not wait for memory");
  // The way back may take more of it.
  gpu.unshuffle(from, length, itemBytes, 42, { into });
  await device.queue.onSubmittedWorkDone();
  gpu.shuffle(from, length, itemBytes, 42, { into });
  gpu.unshuffle(into, length, itemBytes, 42, { into: back });
  assert((passes > 1) === !isRefused, `${length} items are partitioned where there is memory`);
  assert(same(await download(device, into, before.length), after), `${length} items, partitioned`);
  assert(same(await download(device, back, before.length), before), `${length} items, and back`);
  for (const each of [from, into, back]) each.destroy();
  gpu.free();
  device.createShaderModule = GPUDevice.prototype.createShaderModule;
  device.popErrorScope = GPUDevice.prototype.popErrorScope;
}

function refused(work: () => unknown, type: { prototype: Error }, words: string): void {
  try {
    work();
  } catch (error) {
    const isRight = Object.getPrototypeOf(error) === type.prototype;
    assert(isRight && (error as Error).message.includes(words), `${error} has "${words}"`);
    return;
  }
  assert(false, `this is to be refused: ${words}`);
}

function refusals(gpu: WebGpuShuffler): void {
  const { device } = gpu;
  const buffer = upload(device, new Uint8Array(400));
  const other = upload(device, new Uint8Array(200));
  const plain = device.createBuffer({ size: 400, usage: COPY_DST });
  const narrow = device.createBuffer({ size: 400, usage: STORAGE });
  refused(() => gpu.shuffle(buffer, -1, 4, 1), RangeError, "the length is -1");
  refused(() => gpu.shuffle(buffer, 1.5, 4, 1), RangeError, "the length is 1.5");
  refused(() => gpu.shuffle(buffer, 2 ** 32, 4, 1), RangeError, "at most 4294967295");
  for (const itemBytes of [0, 1.5, -4, 2 ** 21, NaN]) {
    refused(() => gpu.shuffle(buffer, 10, itemBytes, 1), RangeError, `${itemBytes}`);
  }
  const wrong = "4" as unknown as number;
  refused(() => gpu.shuffle(buffer, wrong, 4, 1), TypeError, "the length is");
  refused(() => gpu.shuffle(buffer, 10, wrong, 1), TypeError, "the size of an item is");
  const unknown = { epochs: 1 } as object;
  refused(() => gpu.shuffle(buffer, 10, 4, 1, unknown), TypeError, 'no option "epochs"');
  refused(() => gpu.shuffle(buffer, 103, 4, 1), RangeError, "a buffer of 408 bytes");
  refused(() => gpu.shuffle(buffer, 409, 1, 1), RangeError, "the items have 412, in whole words");
  refused(() => gpu.unshuffle(buffer, 100, 4, 1, { into: other }), RangeError, "a buffer of 208");
  refused(() => gpu.shuffle(buffer, 10, 4, 1, { into: buffer }), TypeError, "their own buffer");
  refused(() => gpu.shuffle(buffer, 10, 4, 1, { into: plain }), TypeError, "create it with STORAGE");
  refused(() => gpu.shuffle(narrow, 10, 4, 1), TypeError, "STORAGE, COPY_SRC and COPY_DST");
  refused(() => gpu.shuffle(buffer, 10, 4, -1), RangeError, "the seed is -1");
  refused(() => gpu.shuffle(buffer, 0, 4, new Uint8Array(31)), RangeError, "a key of 31 bytes");
  // Nothing to do.
  gpu.shuffle(buffer, 0, 4, 1);
}

/** A device with the least limits and no subgroups: arrays move part by part above 128 MiB. */
async function leastDevice(tuning: Tuning, partitioned: number): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  const gpu = new WebGpuShuffler(await adapter!.requestDevice());
  const { device } = gpu;
  // Buckets are small, so there are two passes on the way back.
  await partitions(device, 2 ** 19 + 1, 16, false);
  tuning.partitioned = partitioned;
  for (const length of [1000, 1024, 65537]) await moves(gpu, length, 4, 42);
  await moves(gpu, 2049, 2 ** 16, 42);
  const size = 129 * 2 ** 20;
  const [from, into] = [0, 1].map(() => device.createBuffer({ size, usage: STORAGE }));
  const refuses = (length: number, itemBytes: number, words: string) =>
    refused(
      () => gpu.shuffle(from!, length, itemBytes, 1, { into: into! }),
      RangeError,
      `at most ${words}`,
    );
  // By indexes of 4 bytes, which have to fit a binding.
  refuses(2 ** 25 + 1, 1, `${2 ** 25}`);
  // No part with two aligned ends fits one.
  refuses(129, 2 ** 20, "128");
  device.destroy();
}

/** Runs all checks, and says what was checked; `undefined` where there is no GPU. */
export async function check(tuning: Tuning): Promise<string | undefined> {
  let gpu: WebGpuShuffler;
  try {
    gpu = await WebGpuShuffler.open();
  } catch (error) {
    if (error instanceof WebGpuError && error.reason === "no-gpu") return undefined;
    throw error;
  }
  const { device } = gpu;
  let failure: string | undefined;
  device.addEventListener("uncapturederror", ({ error }) => (failure ??= error.message));
  refusals(gpu);
  for (const length of [1, 2, 3, 100, 256, 257, 1000, 1024, 1025, 2049, 65536, 65537, 70000]) {
    await moves(gpu, length, 4, length);
    await moves(gpu, length, [8, 12, 16, 40][length % 4]!, BigInt(length) << 40n, 5);
    await moves(gpu, length, [1, 2, 3, 6][length % 4]!, length);
  }
  const key = Uint8Array.from({ length: 32 }, (_, k) => 7 * k + 1);
  for (const length of [200, 5000, 4096]) await moves(gpu, length, 4, key, 2 ** 40);
  for (const length of [2 ** 20, 2 ** 20 + 1]) await moves(gpu, length, 4, 42);
  await moves(gpu, 2 ** 20 + 1, 1, 42);
  // In two phases.
  await moves(gpu, 2 ** 20, 16, 42);
  // More calls than one state has numbers for.
  for (let seed = 0; seed < 40; seed++) await moves(gpu, 3000, 4, seed);
  const { partitioned } = tuning;
  tuning.partitioned = 0;
  await partitions(device, 5000, 8, true);
  await partitions(device, 2 ** 16 + 1, 4, false);
  gpu.free();
  await moves(gpu, 300, 16, 1);
  const items = await place(gpu, 1e6);
  assert(items.join() === new Permutation(1e6, 42).slice(0, 5).join(), `${items}`);
  assert(failure === undefined, `an error of the device: ${failure}`);
  await leastDevice(tuning, partitioned);

  device.destroy();
  await device.lost;
  const buffer = device.createBuffer({ size: 400, usage: ALL });
  refused(() => gpu.shuffle(buffer, 10, 4, 1), WebGpuError, "device is lost");
  return `${checks} checks, ${device.features.has("subgroups") ? "with" : "without"} subgroups`;
}

/** The first places of an order that the GPU has shuffled. */
async function place(gpu: WebGpuShuffler, length: number): Promise<number[]> {
  const bytes = new Uint8Array(Uint32Array.from({ length }, (_, k) => k).buffer);
  const buffer = upload(gpu.device, bytes);
  gpu.shuffle(buffer, length, 4, 42);
  const moved = await download(gpu.device, buffer, bytes.length);
  return [...new Uint32Array(moved.slice(0, 20).buffer)];
}
