// The entry `bijective-shuffle/webgpu`: shuffles of a GPU's buffers.

// It starts the module that seeds go through.
import "./index.ts";

import { isStarted } from "./code.ts";
import { startKernels } from "./gpu.ts";

// Where it cannot be had, `WebGpuShuffler` says so.
await isStarted(startKernels, new URL("./bijective_shuffle_webgpu.wasm", import.meta.url));

export { type GpuOptions, WebGpuError, WebGpuShuffler } from "./gpu.ts";
