/* What the header promises beside values: failures that change nothing, null pointers, own
 * bijections that are none, limits of threads, forks. */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bijective_shuffle.h"
#include "check.h"

#define LONG ((size_t)300001)
#define SPARSE ((size_t)1000)

/* A child may have its parent's number, in a namespace of its own or when the parent has gone. */
pid_t getpid(void) {
    return 1;
}

/* A failure of this status, with a text that contains some words. */
#define FAILS(call, status, words)                            \
    do {                                                      \
        CHECK((call) == (status));                            \
        CHECK(strstr(bs_error_text(), words) != NULL);        \
    } while (0)

static uint64_t *numbers(size_t count) {
    uint64_t *made = malloc(count * sizeof *made);
    if (made == NULL) {
        abort();
    }
    for (size_t k = 0; k < count; k++) {
        made[k] = k;
    }
    return made;
}

static bool are_in_order(const uint64_t *items, size_t count) {
    for (size_t k = 0; k < count; k++) {
        if (items[k] != k) {
            return false;
        }
    }
    return true;
}

static bs_permutation *walk(uint64_t length) {
    bs_permutation *p = NULL;
    OK(bs_permutation_walk(length, 42, 0, &p));
    return p;
}

/* Items of every size up to 70 bytes at every alignment, few and many, against the indexes. */
static void sizes(void) {
    for (size_t size = 1; size <= 70; size += size < 20 ? 1 : 13) {
        for (size_t offset = 0; offset < 3; offset++) {
            const size_t counts[] = {0, 1, 7, 300, 5000};
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                const size_t count = counts[c], bytes = count * size;
                unsigned char *memory = malloc(bytes + offset + 16), *before = malloc(bytes + 1);
                unsigned char *items = memory + offset;
                for (size_t k = 0; k < bytes; k++) {
                    items[k] = before[k] = (unsigned char)(k * 131 + k / 251);
                }
                memset(items + bytes, 0xa5, 16 - 3);
                bs_permutation *p = NULL;
                uint64_t *order = numbers(count + 1);
                OK(bs_permutation_new(count, 7, 1, &p));
                OK(bs_permutation_range(p, 0, count, order));
                OK(bs_shuffle(items, count, size, 7, 1));
                for (size_t k = 0; k < count; k++) {
                    CHECK(memcmp(items + k * size, before + order[k] * size, size) == 0);
                }
                OK(bs_unshuffle(items, count, size, 7, 1));
                CHECK(memcmp(items, before, bytes) == 0);
                for (size_t k = 0; k < 16 - 3; k++) {
                    CHECK(items[bytes + k] == 0xa5);
                }
                bs_permutation_free(p);
                free(order);
                free(before);
                free(memory);
            }
        }
    }
}

static void null_pointers(void) {
    uint64_t number = 0;
    size_t count = 0;
    bs_permutation *p = walk(10), *q = NULL;
    bs_sampler *s = NULL;
    bs_generator *g = NULL;
    FAILS(bs_shuffle(NULL, 3, 4, 1, 0), BS_ERROR_NULL, "items");
    OK(bs_shuffle(NULL, 0, 4, 1, 0));
    FAILS(bs_shuffle_together(NULL, 2, 3, 1, 0), BS_ERROR_NULL, "arrays");
    OK(bs_shuffle_together(NULL, 0, 3, 1, 0));
    FAILS(bs_permutation_new(5, 1, 0, NULL), BS_ERROR_NULL, "permutation");
    FAILS(bs_permutation_new_keyed(5, NULL, 0, &q), BS_ERROR_NULL, "key");
    FAILS(bs_permutation_walk(5, 1, 0, NULL), BS_ERROR_NULL, "permutation");
    FAILS(bs_permutation_from_bijection(5, NULL, &q), BS_ERROR_NULL, "bijection");
    FAILS(bs_permutation_inverted(NULL, &q), BS_ERROR_NULL, "permutation");
    FAILS(bs_permutation_inverted(p, NULL), BS_ERROR_NULL, "inverse");
    FAILS(bs_permutation_get(NULL, 0, &number), BS_ERROR_NULL, "permutation");
    FAILS(bs_permutation_get(p, 0, NULL), BS_ERROR_NULL, "index");
    FAILS(bs_permutation_position(p, 0, NULL), BS_ERROR_NULL, "place");
    FAILS(bs_permutation_range(p, 0, 10, NULL), BS_ERROR_NULL, "indexes");
    OK(bs_permutation_range(p, 10, 0, NULL));
    FAILS(bs_permutation_range_u32(p, 0, 10, NULL), BS_ERROR_NULL, "indexes");
    FAILS(bs_permutation_shard(p, 0, 1, NULL, &number), BS_ERROR_NULL, "first");
    FAILS(bs_permutation_shard(p, 0, 1, &number, NULL), BS_ERROR_NULL, "number of places");
    FAILS(bs_permutation_build_index(NULL), BS_ERROR_NULL, "permutation");
    FAILS(bs_permutation_apply(NULL, NULL, 0, 0), BS_ERROR_NULL, "permutation");
    FAILS(bs_sampler_new(NULL, &s), BS_ERROR_NULL, "options");
    FAILS(bs_sampler_next_batch(NULL, &number, 1, &count), BS_ERROR_NULL, "sampler");
    FAILS(bs_sampler_next_epoch(NULL), BS_ERROR_NULL, "sampler");
    FAILS(bs_sampler_state(NULL, NULL, 0), BS_ERROR_NULL, "sampler");
    FAILS(bs_sampler_state_at(NULL, 0, 0, NULL, 0), BS_ERROR_NULL, "sampler");
    FAILS(bs_sampler_resume(NULL, "a"), BS_ERROR_NULL, "sampler");
    FAILS(bs_generator_new(0, 1, 0, 0, NULL), BS_ERROR_NULL, "generator");
    FAILS(bs_generator_fill_u64(NULL, &number, 1), BS_ERROR_NULL, "generator");
    OK(bs_generator_new(0, 1, 0, 0, &g));
    FAILS(bs_generator_fill_u64(g, NULL, 1), BS_ERROR_NULL, "numbers");
    FAILS(bs_threads(NULL), BS_ERROR_NULL, "number");
    CHECK(bs_permutation_length(NULL) == 0 && bs_sampler_epoch(NULL) == 0);
    CHECK(bs_sampler_consumed(NULL) == 0 && bs_sampler_steps(NULL) == 0);
    CHECK(bs_sampler_steps_remaining(NULL) == 0);
    CHECK(q == NULL && s == NULL);
    bs_generator_free(g);
    bs_generator_free(NULL);
    bs_sampler_free(NULL);
    bs_permutation_free(NULL);
    bs_permutation_free(p);
}

static void bad_arguments(void) {
    uint64_t items[6] = {0, 1, 2, 3, 4, 5}, number = 77;
    bs_permutation *p = walk(6), *q = NULL;
    bs_generator *g = NULL;
    FAILS(bs_shuffle(items, 6, 0, 1, 0), BS_ERROR_ARGUMENT, "0 bytes");
    FAILS(bs_shuffle(items, SIZE_MAX / 4, 8, 1, 0), BS_ERROR_ARGUMENT, "address space");
    FAILS(bs_shuffle(items, SIZE_MAX / 2 + 1, 1, 1, 0), BS_ERROR_ARGUMENT, "address space");
    const bs_array overlapping[] = {{items, 8}, {(char *)items + 12, 4}};
    FAILS(bs_shuffle_together(overlapping, 2, 3, 1, 0), BS_ERROR_ARGUMENT, "share memory");
    const bs_array twice[] = {{items, 8}, {items, 8}};
    FAILS(bs_permutation_apply(p, twice, 2, 6), BS_ERROR_ARGUMENT, "share memory");
    FAILS(bs_permutation_apply(p, twice, 1, 5), BS_ERROR_LENGTH, "6");
    FAILS(bs_permutation_unapply(p, twice, 1, 7), BS_ERROR_LENGTH, "7");
    FAILS(bs_permutation_get(p, 6, &number), BS_ERROR_RANGE, "no place 6");
    FAILS(bs_permutation_position(p, 6, &number), BS_ERROR_RANGE, "no index 6");
    FAILS(bs_permutation_range(p, 1, 6, items), BS_ERROR_RANGE, "6 places from 1");
    FAILS(bs_permutation_range(p, UINT64_MAX, 2, items), BS_ERROR_RANGE, "places");
    FAILS(bs_permutation_shard(p, 2, 2, &number, &number), BS_ERROR_RANGE, "rank 2");
    FAILS(bs_permutation_shard(p, 0, 0, &number, &number), BS_ERROR_RANGE, "at least 1");
    FAILS(bs_permutation_blocks(6, 0, 1, 1, 0, &q), BS_ERROR_ARGUMENT, "block");
    FAILS(bs_permutation_range(p, 0, 6, (uint64_t *)(void *)((char *)items + 1)),
          BS_ERROR_ARGUMENT, "multiple of 8");
    FAILS(bs_generator_new(8, 1, 0, 0, &g), BS_ERROR_ARGUMENT, "no generator 8");
    FAILS(bs_generator_streams(0, 1, 0, 0, 0, &g), BS_ERROR_ARGUMENT, "stream");
    FAILS(bs_generator_streams(0, 1, 0, 2, UINT64_MAX, &g), BS_ERROR_ARGUMENT, "streams");
    /* The last stream comes alone, and the error says so. */
    FAILS(bs_generator_streams(0, 1, 0, UINT64_MAX, 1, &g), BS_ERROR_ARGUMENT, "up to 2^64 - 2");
    OK(bs_generator_new(0, 1, 0, UINT64_MAX, &g));
    bs_generator_free(g);
    g = NULL;
    FAILS(bs_set_threads(SIZE_MAX), BS_ERROR_ARGUMENT, "threads");
    CHECK(number == 77 && q == NULL && g == NULL && are_in_order(items, 6));
    bs_permutation_free(p);

    p = walk((UINT64_C(1) << 32) + 1);
    uint32_t narrow = 77;
    FAILS(bs_permutation_range_u32(p, 0, 1, &narrow), BS_ERROR_ARGUMENT, "32");
    CHECK(narrow == 77);
    bs_permutation_free(p);

    /* More than an index is built for unasked. */
    OK(bs_permutation_new(UINT64_C(1000000000000), 42, 0, &p));
    FAILS(bs_permutation_get(p, UINT64_C(500000000000), &number), BS_ERROR_INDEX_NOT_BUILT,
          "bs_permutation_walk");
    OK(bs_permutation_get(p, 3, &number));
    bs_permutation_free(p);
}

static void long_orders(void) {
    bs_permutation *p = walk(UINT64_MAX);
    uint64_t item = 0, place = 0;
    OK(bs_permutation_get(p, UINT64_MAX - 1, &item));
    OK(bs_permutation_position(p, item, &place));
    CHECK(place == UINT64_MAX - 1);
    uint64_t first = 0, count = 0;
    OK(bs_permutation_shard(p, 2, 3, &first, &count));
    CHECK(first == UINT64_MAX / 3 * 2 && count == UINT64_MAX / 3);
    bs_permutation_free(p);
}

static void samplers(void) {
    bs_sampler_options options = {0};
    bs_sampler *s = NULL, *other = NULL;
    options.length = 10;
    options.seed = 42;
    options.batch = 4;
    FAILS(bs_sampler_new(&options, &s), BS_ERROR_RANGE, "ranks is at least 1");
    options.ranks = 1;
    options.tail = 4;
    FAILS(bs_sampler_new(&options, &s), BS_ERROR_ARGUMENT, "no tail 4");
    options.tail = BS_TAIL_SHORT;
    options.order = -1;
    FAILS(bs_sampler_new(&options, &s), BS_ERROR_ARGUMENT, "no order -1");
    options.order = BS_ORDER_SHUFFLED;
    for (size_t k = 0; k < sizeof options.reserved / sizeof *options.reserved; k++) {
        options.reserved[k] = 1;
        FAILS(bs_sampler_new(&options, &s), BS_ERROR_ARGUMENT, "reserved field of the options");
        options.reserved[k] = 0;
    }
    CHECK(s == NULL);
    OK(bs_sampler_new(&options, &s));
    OK(bs_sampler_new(&options, &other));

    uint64_t items[4];
    size_t count = 77;
    char text[BS_STATE_SIZE], saved[BS_STATE_SIZE];
    OK(bs_sampler_state(s, saved, sizeof saved));
    FAILS(bs_sampler_next_batch(s, items, 3, &count), BS_ERROR_LENGTH, "memory for 3");
    FAILS(bs_sampler_state(s, text, strlen(saved)), BS_ERROR_LENGTH, "BS_STATE_SIZE");
    OK(bs_sampler_state(s, text, strlen(saved) + 1));
    CHECK(strcmp(text, saved) == 0 && count == 77);
    FAILS(bs_sampler_state_at(s, 0, 0, NULL, 0), BS_ERROR_LENGTH, "BS_STATE_SIZE");
    FAILS(bs_sampler_state_at(s, 0, 0, text, strlen(saved)), BS_ERROR_LENGTH, "BS_STATE_SIZE");
    FAILS(bs_sampler_state_at(s, 0, 11, text, sizeof text), BS_ERROR_RANGE, "11 items consumed");
    FAILS(bs_sampler_resume(s, NULL), BS_ERROR_NULL, "text");
    FAILS(bs_sampler_resume(s, "\xff"), BS_ERROR_STATE, "state");
    bool seen[10] = {false};
    for (int epoch = 0; epoch < 2; epoch++) {
        bs_status status;
        size_t all = 0;
        memset(seen, 0, sizeof seen);
        while ((status = bs_sampler_next_batch(s, items, 4, &count)) == BS_OK) {
            /* Another sampler's state by numbers is the one after drawing. */
            OK(bs_sampler_state(s, saved, sizeof saved));
            OK(bs_sampler_state_at(other, bs_sampler_epoch(s), bs_sampler_consumed(s), text,
                                   sizeof text));
            CHECK(strcmp(text, saved) == 0);
            for (size_t k = 0; k < count; k++) {
                CHECK(items[k] < 10 && !seen[items[k]]);
                seen[items[k]] = true;
                all += 1;
            }
        }
        CHECK(status == BS_END && all == 10);
        /* Where nothing comes, no room is needed. */
        CHECK(bs_sampler_next_batch(s, NULL, 0, &count) == BS_END);
        CHECK(bs_sampler_epoch(s) == (uint64_t)epoch && bs_sampler_consumed(s) == 10);
        OK(bs_sampler_next_epoch(s));
    }
    CHECK(bs_sampler_epoch(other) == 0 && bs_sampler_consumed(other) == 0);
    /* Numbers of 16 digits make the longest state. */
    bs_sampler_free(other);
    bs_sampler_free(s);
    options.length = UINT64_MAX;
    OK(bs_sampler_new(&options, &s));
    OK(bs_sampler_set_epoch(s, UINT64_MAX));
    OK(bs_sampler_state(s, text, sizeof text));
    OK(bs_sampler_resume(s, text));
    /* After the last epoch none comes, and the sampler stays there. */
    FAILS(bs_sampler_next_epoch(s), BS_ERROR_RANGE, "epoch 2^64 - 1");
    CHECK(bs_sampler_epoch(s) == UINT64_MAX);
    OK(bs_sampler_set_epoch(s, UINT64_MAX - 1));
    OK(bs_sampler_next_epoch(s));
    CHECK(bs_sampler_epoch(s) == UINT64_MAX);
    bs_sampler_free(s);
}

/* A bijection on 2^18 points, with faults to be chosen. */
#define POINTS (UINT64_C(1) << 18)

enum fault { NONE, OUT_OF_RANGE, REPEATS, RUN_REPEATS, WRONG_INVERSE };

struct odd {
    enum fault fault;
    int freed;
};

static uint64_t forward(void *context, uint64_t point) {
    const struct odd *odd = context;
    const uint64_t value = (point * 5 + 3) % POINTS;
    if (odd->fault == OUT_OF_RANGE && value == POINTS - 1) {
        return UINT64_MAX;
    }
    return odd->fault == REPEATS && point == 1000 ? 3 : value;
}

static uint64_t inverse(void *context, uint64_t value) {
    const struct odd *odd = context;
    /* 5 * 209715 + 1 = 4 * 2^18, so 5 * (2^18 * k - 209715) = 1. */
    const uint64_t point = (value + POINTS - 3) % POINTS * (POINTS - 209715 % POINTS) % POINTS;
    if (odd->fault == OUT_OF_RANGE && value == 1000) {
        return POINTS;
    }
    return odd->fault == WRONG_INVERSE && value == 1000 ? (point + 1) % POINTS : point;
}

static void forward_run(void *context, uint64_t first, uint64_t *values, size_t count) {
    const struct odd *odd = context;
    for (size_t k = 0; k < count; k++) {
        values[k] = forward(context, first + k);
        if (odd->fault == RUN_REPEATS && first + k == 1000) {
            values[k] = 3;
        }
    }
}

static void free_context(void *context) {
    ((struct odd *)context)->freed += 1;
}

static void own_bijections(void) {
    struct odd odd = {NONE, 0};
    CHECK(inverse(&odd, forward(&odd, 12345)) == 12345);
    bs_bijection f = {.context = &odd, .last = POINTS - 1, .forward = forward, .inverse = inverse};
    f.free_context = free_context;
    for (size_t k = 0; k < sizeof f.reserved / sizeof *f.reserved; k++) {
        bs_permutation *none = NULL;
        f.reserved[k] = &odd;
        FAILS(bs_permutation_from_bijection(5, &f, &none), BS_ERROR_ARGUMENT,
              "reserved field of the bijection");
        f.reserved[k] = NULL;
        CHECK(none == NULL && odd.freed == 0);
    }
    const size_t lengths[] = {0, 1, 200, 2000, POINTS - 5, POINTS};
    for (size_t c = 0; c < sizeof lengths / sizeof *lengths; c++) {
        for (int with_run = 0; with_run < 2; with_run++) {
            const size_t length = lengths[c];
            f.forward_run = with_run ? forward_run : NULL;
            bs_permutation *p = NULL, *q = NULL;
            OK(bs_permutation_from_bijection(length, &f, &p));
            OK(bs_permutation_inverted(p, &q));
            uint64_t *items = numbers(length + 1), *order = numbers(length + 1);
            const bs_array array = {items, sizeof *items};
            OK(bs_permutation_range(p, 0, length, order));
            size_t next = 0;
            for (uint64_t point = 0; point < POINTS; point++) {
                const uint64_t value = forward(&odd, point);
                if (value < length) {
                    CHECK(order[next] == value);
                    next += 1;
                }
            }
            CHECK(next == length);
            OK(bs_permutation_apply(p, &array, 1, length));
            CHECK(memcmp(items, order, length * sizeof *items) == 0);
            OK(bs_permutation_apply(q, &array, 1, length));
            CHECK(are_in_order(items, length));
            if (length > 2) {
                uint64_t item = 0, place = 0;
                OK(bs_permutation_get(p, length / 2, &item));
                OK(bs_permutation_position(p, item, &place));
                CHECK(item == order[length / 2] && place == length / 2);
            }

            /* A fault is found, and nothing has moved. */
            const enum fault faults[] = {OUT_OF_RANGE, REPEATS, RUN_REPEATS};
            for (int k = 0; length >= POINTS - 5 && k < 2 + with_run; k++) {
                odd.fault = faults[k];
                FAILS(bs_permutation_apply(p, &array, 1, length), BS_ERROR_NOT_A_BIJECTION, "");
                FAILS(bs_permutation_unapply(p, &array, 1, length), BS_ERROR_NOT_A_BIJECTION, "");
                FAILS(bs_permutation_range(p, 0, length, order), BS_ERROR_NOT_A_BIJECTION, "");
                CHECK(are_in_order(items, length));
            }
            /* A value that is no point ends every call, even where there is no item. */
            odd.fault = OUT_OF_RANGE;
            uint64_t number = 77;
            if (length >= POINTS - 5) {
                const uint64_t place = (POINTS - 4) * (POINTS - 209715) % POINTS;
                FAILS(bs_permutation_range(p, 1, length - 1, order), BS_ERROR_NOT_A_BIJECTION, "domain");
                FAILS(bs_permutation_get(p, place, &number), BS_ERROR_NOT_A_BIJECTION, "domain");
                FAILS(bs_permutation_get(q, 1000, &number), BS_ERROR_NOT_A_BIJECTION, "domain");
                FAILS(bs_permutation_position(p, 1000, &number), BS_ERROR_NOT_A_BIJECTION, "domain");
                CHECK(number == 77);
            }
            odd.fault = NONE;
            free(order);
            free(items);
            const int freed = odd.freed;
            bs_permutation_free(p);
            CHECK(odd.freed == freed);
            bs_permutation_free(q);
            CHECK(odd.freed == freed + 1);
        }
    }
    /* Without a permutation, the context stays with the caller. */
    const int freed = odd.freed;
    bs_permutation *p = NULL;
    FAILS(bs_permutation_from_bijection(POINTS + 1, &f, &p), BS_ERROR_ARGUMENT, "points");
    FAILS(bs_permutation_from_bijection(5, &f, NULL), BS_ERROR_NULL, "permutation");
    f.inverse = NULL;
    FAILS(bs_permutation_from_bijection(5, &f, &p), BS_ERROR_NULL, "inverse");
    CHECK(odd.freed == freed && p == NULL);
}

static void *fails_elsewhere(void *text) {
    FAILS(bs_shuffle(NULL, 1, 1, 0, 0), BS_ERROR_NULL, "items");
    *(const char **)text = bs_error_text();
    return NULL;
}

static void texts_are_of_a_thread(void) {
    FAILS(bs_set_threads(SIZE_MAX), BS_ERROR_ARGUMENT, "threads");
    const char *here = bs_error_text(), *there = NULL;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fails_elsewhere, (void *)&there) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(there != NULL && there != here && strstr(here, "threads") != NULL);
    CHECK(strcmp(bs_version(), VERSION) == 0);
}

static uint64_t *shuffled(void) {
    uint64_t *items = numbers(LONG);
    OK(bs_shuffle(items, LONG, sizeof *items, 5, 0));
    return items;
}

/* Any number of threads gives one order; one permutation serves several threads. */
static void *looks_up(void *p) {
    for (uint64_t place = 0; place < LONG; place += 997) {
        uint64_t item = 0, again = 0;
        OK(bs_permutation_get(p, place, &item));
        OK(bs_permutation_position(p, item, &again));
        CHECK(again == place);
    }
    return NULL;
}

/* Few items among many points, which the library's threads evaluate. */
static void sparse(void) {
    struct odd odd = {NONE, 0};
    const bs_bijection f = {
        .context = &odd, .last = POINTS - 1, .forward = forward, .inverse = inverse};
    bs_permutation *p = NULL, *q = NULL;
    OK(bs_permutation_from_bijection(SPARSE, &f, &p));
    OK(bs_permutation_from_bijection(SPARSE, &f, &q));
    uint64_t *items = numbers(SPARSE), *order = numbers(SPARSE), item = 0;
    const bs_array array = {items, sizeof *items};
    OK(bs_permutation_range(p, 0, SPARSE, order));
    OK(bs_permutation_apply(p, &array, 1, SPARSE));
    CHECK(memcmp(items, order, SPARSE * sizeof *items) == 0);
    OK(bs_permutation_get(q, 1, &item));
    CHECK(item == order[1]);
    free(order);
    free(items);
    bs_permutation_free(q);
    bs_permutation_free(p);
}

static void threads(void) {
    sparse();
    uint64_t *expected = shuffled();
    size_t count = 0;
    for (size_t asked = 1; asked <= 3; asked++) {
        OK(bs_set_threads(asked));
        OK(bs_threads(&count));
        CHECK(count == asked);
        uint64_t *items = shuffled();
        CHECK(memcmp(items, expected, LONG * sizeof *items) == 0);
        free(items);
    }
    OK(bs_set_threads(0));

    bs_permutation *p = NULL;
    OK(bs_permutation_new(LONG, 5, 0, &p));
    pthread_t of[3];
    for (int k = 0; k < 3; k++) {
        CHECK(pthread_create(&of[k], NULL, looks_up, p) == 0);
    }
    for (int k = 0; k < 3; k++) {
        CHECK(pthread_join(of[k], NULL) == 0);
    }
    bs_permutation_free(p);

    /* A child of a process with threads has none, and makes its own. */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        sparse();
        uint64_t *items = shuffled();
        _exit(memcmp(items, expected, LONG * sizeof *items) == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    free(expected);
}

int main(void) {
    CHECK(strcmp(bs_error_text(), "") == 0);
    sizes();
    null_pointers();
    bad_arguments();
    long_orders();
    samplers();
    own_bijections();
    texts_are_of_a_thread();
    threads();
    printf("rules: %lu checks\n", checked);
    return 0;
}
