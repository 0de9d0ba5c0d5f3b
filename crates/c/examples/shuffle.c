/* Shuffles a table of two columns, puts it back, and looks up places of a long order.
 *
 *     cc shuffle.c $(pkg-config --cflags --libs bijective_shuffle)
 */
#include <bijective_shuffle.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bs_status status) {
    if (status != BS_OK) {
        fprintf(stderr, "%s\n", bs_error_text());
        exit(1);
    }
}

int main(void) {
    uint32_t keys[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const char *names[] = {"zero", "one", "two",   "three", "four",
                           "five", "six", "seven", "eight", "nine"};
    const bs_array columns[] = {{keys, sizeof *keys}, {names, sizeof *names}};
    check(bs_shuffle_together(columns, 2, 10, 42, 0));
    for (int k = 0; k < 10; k++) {
        printf("%" PRIu32 " %s\n", keys[k], names[k]);
    }
    check(bs_unshuffle_together(columns, 2, 10, 42, 0));

    bs_permutation *order = NULL;
    uint64_t index = 0, place = 0;
    check(bs_permutation_walk(UINT64_C(1000000000000), 42, 0, &order));
    check(bs_permutation_get(order, 15, &index));
    check(bs_permutation_position(order, index, &place));
    printf("place %" PRIu64 " of a trillion: index %" PRIu64 "\n", place, index);
    bs_permutation_free(order);
    return keys[9] == 9 && place == 15 ? 0 : 1;
}
