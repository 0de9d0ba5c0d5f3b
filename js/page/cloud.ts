// Ten million points, which move on the visitor's GPU where there is one.

import { WebGpuError, WebGpuShuffler } from "bijective-shuffle/webgpu";
import { shuffle, unshuffle } from "bijective-shuffle";

/** The points, and how many of them are drawn. */
const [POINTS, DRAWN] = [10_000_000, 50_000];

// GPUBufferUsage and GPUMapMode.
const [MAP_READ, COPY_SRC, COPY_DST, STORAGE, READ] = [0x1, 0x4, 0x8, 0x80, 1];

/** Where the points are, and how they are moved. */
interface Engine {
  readonly name: string;
  move(seed: bigint, isUndo: boolean): Promise<void>;
  /** The first points. */
  head(): Promise<Uint32Array>;
}

/** The first points, from left to right, with 16 bits for each coordinate. */
function made(count: number): Uint32Array<ArrayBuffer> {
  const points = new Uint32Array(count);
  for (let k = 0; k < count; k++) {
    const x = Math.floor((k / POINTS) * 65536);
    const noise = Math.imul(k, 0x9e3779b1) >>> 19;
    const wave = 24000 * Math.sin(x / 5000) * (k % 3) * 0.5;
    points[k] = (x << 16) | (28672 + Math.round(wave) + noise);
  }
  return points;
}

async function onGpu(): Promise<Engine | undefined> {
  let gpu: WebGpuShuffler;
  try {
    gpu = await WebGpuShuffler.open();
  } catch (error) {
    if (error instanceof WebGpuError) return undefined;
    throw error;
  }
  const { device } = gpu;
  device.pushErrorScope("out-of-memory");
  const usage = STORAGE | COPY_SRC | COPY_DST;
  const buffer = device.createBuffer({ size: 4 * POINTS, usage });
  const head = device.createBuffer({ size: 4 * DRAWN, usage: MAP_READ | COPY_DST });
  if ((await device.popErrorScope()) !== null) return undefined;
  device.queue.writeBuffer(buffer, 0, made(POINTS));
  await device.queue.onSubmittedWorkDone();
  return {
    name: "on the GPU",
    async move(seed, isUndo) {
      if (isUndo) gpu.unshuffle(buffer, POINTS, 4, seed);
      else gpu.shuffle(buffer, POINTS, 4, seed);
      await device.queue.onSubmittedWorkDone();
    },
    async head() {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, 0, head, 0, 4 * DRAWN);
      device.queue.submit([encoder.finish()]);
      await head.mapAsync(READ);
      const points = new Uint32Array(head.getMappedRange()).slice();
      head.unmap();
      return points;
    },
  };
}

function onCpu(): Engine {
  const points = made(POINTS);
  return {
    name: "on the CPU, because this browser offers pages no GPU,",
    async move(seed, isUndo) {
      if (isUndo) unshuffle(points, seed);
      else shuffle(points, seed);
    },
    head: async () => points.slice(0, DRAWN),
  };
}

let engine: Promise<Engine> | undefined;

/** What a button did, in words. An undo by another seed than the shuffle's brings nothing back. */
export function done(
  count: number,
  what: string,
  where: string,
  isUndo: boolean,
  isBack: boolean,
  took: number,
): string {
  const items = `${count.toLocaleString("en")} ${what}`;
  const time = `${took.toFixed(1)} ms`;
  if (!isUndo) return `${items} shuffled${where} in ${time}.`;
  if (isBack) return `${items} put back${where} in ${time}.`;
  return `${items} moved${where} in ${time}, and not back in order: every shuffle is undone by its own seed.`;
}

/** Draws the first points as they are before any shuffle. */
export function drawOrdered(canvas: HTMLCanvasElement): void {
  draw(canvas, made(DRAWN));
}

/** Moves the points, draws the first of them, and returns what was done. */
export async function moveCloud(
  canvas: HTMLCanvasElement,
  seed: bigint,
  isUndo: boolean,
): Promise<string> {
  engine ??= onGpu().then((gpu) => gpu ?? onCpu());
  const { name, move, head } = await engine;
  const began = performance.now();
  await move(seed, isUndo);
  const took = performance.now() - began;
  const points = await head();
  draw(canvas, points);
  const ordered = made(DRAWN);
  const isBack = points.every((point, k) => point === ordered[k]);
  return done(POINTS, "points", ` ${name}`, isUndo, isBack, took);
}

function draw(canvas: HTMLCanvasElement, points: Uint32Array): void {
  const { width, height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (const point of points) {
    const x = ((point >>> 16) * width) >>> 16;
    const y = ((point & 0xffff) * height) >>> 16;
    pixels[y * width + x] = 0xfff7812f;
  }
  context.putImageData(image, 0, 0);
}
