// The entry `bijective-shuffle/webgpu`: shuffles of a GPU's buffers.

export { type GpuOptions, WebGpuError, WebGpuShuffler } from "./gpu.ts";
