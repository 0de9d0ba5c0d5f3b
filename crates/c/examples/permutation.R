# R: Rscript permutation.R permutation_r.so; `.C` passes pointers, so permutation_r.c is between.
dyn.load(commandArgs(trailingOnly = TRUE))
order <- function(n, seed, epoch = 0) {
  made <- .C("r_order", n = as.double(n), as.double(seed), as.double(epoch), items = double(n),
             status = integer(1))
  if (made$status != 0) stop("the order cannot be made")
  made$items + 1
}
cat(letters[order(10, 42)], "\n")
