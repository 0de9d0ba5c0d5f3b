/* The ten lines between R and the library: PKG_LIBS=$(pkg-config --libs bijective_shuffle)
 * R CMD SHLIB permutation_r.c */
#include <bijective_shuffle.h>

/* The items of the order of a seed, as doubles, which hold numbers up to 2^53. */
void r_order(double *n, double *seed, double *epoch, double *items, int *status) {
    bs_permutation *p = NULL;
    *status = bs_permutation_walk((uint64_t)*n, (uint64_t)*seed, (uint64_t)*epoch, &p);
    for (uint64_t k = 0; *status == BS_OK && k < (uint64_t)*n; k++) {
        uint64_t index = 0;
        *status = bs_permutation_get(p, k, &index);
        items[k] = (double)index;
    }
    bs_permutation_free(p);
}
