@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
