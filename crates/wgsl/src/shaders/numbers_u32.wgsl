fn bs_numbers(x: vec4<u32>) -> vec4<u32> { return x; }
