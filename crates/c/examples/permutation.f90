! Fortran: gfortran permutation.f90 $(pkg-config --libs bijective_shuffle)
program permutation
  use iso_c_binding
  interface
    integer(c_int32_t) function bs_shuffle(items, count, item_size, seed, epoch) bind(c)
      import
      type(c_ptr), value :: items
      integer(c_size_t), value :: count, item_size
      integer(c_int64_t), value :: seed, epoch
    end function
  end interface
  integer(c_int64_t), target :: items(10) = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  if (bs_shuffle(c_loc(items), 10_c_size_t, 8_c_size_t, 42_c_int64_t, 0_c_int64_t) /= 0) stop 1
  print '(10(i0, 1x))', items
end program
