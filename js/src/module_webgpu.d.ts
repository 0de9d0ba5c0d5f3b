// js/webgpu, whose code the build writes as hexadecimal digits.

export const code: string;
