# Compares designs and exact p-values with R's packages permute, vegan and coin.
#
#   cargo run -p bijective-shuffle-resample --example oracle | Rscript crates/resample/oracles/designs.R
#
# Each line of the input is a design that both have, or a test, with what is to be compared.
# Debian has the packages: r-cran-permute, r-cran-vegan, r-cran-coin.

suppressPackageStartupMessages({
  library(permute)
  library(vegan)
  library(coin)
})

numbers <- function(text) as.numeric(strsplit(text, " ")[[1]])

# The control of permute that a line names.
control <- function(kind, a) {
  blocks <- function(sizes) factor(rep(seq_along(sizes), sizes))
  mirror <- function(x) x == 1
  switch(kind,
    free = how(),
    series = how(within = Within(type = "series", mirror = mirror(a[2]))),
    grid = how(within = Within(type = "grid", nrow = a[2], ncol = a[1], mirror = mirror(a[3]))),
    blocks = how(blocks = blocks(a)),
    plots_fixed = how(plots = Plots(strata = blocks(rep(a[2], a[1])), type = "free"),
                      within = Within(type = "none")),
    plots_free = how(plots = Plots(strata = blocks(rep(a[2], a[1])), type = "free"),
                     within = Within(type = "free")),
    within_series = how(plots = Plots(strata = blocks(rep(a[2], a[1])), type = "none"),
                        within = Within(type = "series", mirror = mirror(a[3]))),
    within_alike = how(plots = Plots(strata = blocks(rep(a[2], a[1])), type = "none"),
                       within = Within(type = "free", constant = TRUE)),
    plots_series = how(plots = Plots(strata = blocks(rep(a[2], a[1])), type = "series",
                                     mirror = mirror(a[3])), within = Within(type = "none")))
}

checked <- 0
failed <- 0
report <- function(ok, what, own, other) {
  checked <<- checked + 1
  if (!isTRUE(ok)) {
    failed <<- failed + 1
    cat(what, ":", own, "here,", other, "in R\n")
  }
}

input <- file("stdin")
for (line in readLines(input)) {
  part <- strsplit(line, "\t")[[1]]
  if (part[1] == "design") {
    a <- numbers(part[3])
    n <- as.integer(part[4])
    ctrl <- control(part[2], a)
    count <- as.numeric(part[5])
    has_side_of_two <- part[2] == "grid" && 2 %in% a[1:2]
    mirrors_two <- tail(a, 1) == 1 &&
      (part[2] == "within_series" && a[2] == 2 || part[2] == "plots_series" && a[1] == 2)
    if (mirrors_two) next # numPerms 0.9.7 counts each shift twice, and allPerms fails
    if (!has_side_of_two) {
      other <- numPerms(n, ctrl)
      # R's is an exponential of logarithms.
      report(abs(count / other - 1) < 1e-9, paste(part[2], part[3], "count"), count, other)
    }
    if (length(part) == 6) {
      own <- sort(strsplit(part[6], ";")[[1]])
      setMaxperm(ctrl) <- 1e6
      setMinperm(ctrl) <- 0
      setObserved(ctrl) <- TRUE
      # allPerms 0.9.7 takes a grid with a side of 2 for a series; shuffle does not.
      all <- if (has_side_of_two) t(replicate(5000, shuffle(n, ctrl)))
             else tryCatch(allPerms(n, ctrl), error = function(e) NULL)
      if (is.null(all)) {
        cat("R fails for", part[2], part[3], "\n")
        next
      }
      other <- sort(unique(apply(matrix(all, ncol = n) - 1, 1, paste, collapse = " ")))
      report(identical(own, other), paste(part[2], part[3], "set"), length(own), length(other))
    }
  } else if (part[1] == "t") {
    # Two samples, exact: the permutation distribution of the sum of scores.
    values <- numbers(part[3])
    first <- as.integer(part[2])
    group <- factor(rep(c("a", "b"), c(first, length(values) - first)))
    side <- part[4]
    test <- oneway_test(values ~ group, distribution = "exact", alternative = side)
    report(abs(as.numeric(pvalue(test)) - as.numeric(part[5])) < 1e-12,
           paste("oneway_test", side), part[5], format(pvalue(test), digits = 17))
  } else if (part[1] %in% c("adonis", "anosim", "mantel")) {
    rows <- as.integer(part[2])
    d <- as.dist(matrix(numbers(part[4]), rows))
    if (part[1] == "mantel") {
      value <- mantel(d, as.dist(matrix(numbers(part[3]), rows)), permutations = 0)$statistic
    } else {
      sizes <- numbers(part[3])
      group <- factor(rep(seq_along(sizes), sizes))
      value <- if (part[1] == "adonis") adonis2(d ~ group, permutations = 0)$F[1]
               else anosim(d, group, permutations = 0)$statistic
    }
    report(abs(value - as.numeric(part[5])) < 1e-9 * (1 + abs(value)), part[1], part[5],
           format(value, digits = 17))
  }
}
cat(checked, "comparisons,", failed, "failed\n")
quit(status = as.integer(failed > 0 || checked == 0))
