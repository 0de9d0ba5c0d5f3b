# Julia: julia permutation.jl
items = collect(UInt64, 0:9)
status = ccall((:bs_shuffle, "libbijective_shuffle"), Int32,
               (Ptr{Cvoid}, Csize_t, Csize_t, UInt64, UInt64), items, length(items), 8, 42, 0)
status == 0 || error(unsafe_string(ccall((:bs_error_text, "libbijective_shuffle"), Cstring, ())))
println(join(items, " "))
