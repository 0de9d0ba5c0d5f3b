/* Compares the library with the vectors of the specification, which tables.py writes to tables.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "bijective_shuffle.h"
#include "check.h"

struct seed {
    const uint8_t *key;
    uint64_t number;
    uint64_t epoch;
};

enum order { NEW, WALK, BLOCKS, NEW_INVERSE, WALK_INVERSE };

struct listed {
    enum order order;
    struct seed seed;
    /* For rows, `block` is the number of rows. */
    uint64_t length, block, window;
    size_t head_length;
    const uint64_t *head;
    uint64_t digest;
};

struct points {
    enum order order;
    struct seed seed;
    uint64_t length, block, window;
    size_t count;
    const uint64_t *places;
    size_t item_count;
    const uint64_t *items;
};

struct shard {
    uint64_t length, rank, ranks, start, end;
};

struct sample {
    struct seed seed;
    uint64_t length;
    size_t count;
    const uint64_t *items;
};

struct list {
    size_t points;
    const uint64_t *values;
    uint64_t length;
    size_t count;
    const uint64_t *compacted;
};

struct sampler {
    struct seed seed;
    uint64_t length, rank, ranks, batch, block, window;
    int32_t tail, order;
};

struct epoch {
    struct sampler sampler;
    uint64_t epoch;
    size_t steps;
    size_t batch_count;
    const uint64_t *batch_lengths;
    size_t item_count;
    const uint64_t *items;
    uint64_t consumed;
};

struct resume {
    struct sampler sampler;
    const char *text;
    uint64_t steps_remaining;
    size_t taken_count;
    const uint64_t *taken;
    const char *after;
};

struct refused {
    struct sampler sampler;
    const char *text;
};

struct start {
    int32_t generator;
    struct seed seed;
    uint64_t stream;
    size_t count;
    const uint64_t *words;
};

enum kind {
    KIND_U32,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KIND_NORMAL_F32,
    KIND_NORMAL_F64,
    KIND_EXPONENTIAL_F32,
    KIND_EXPONENTIAL_F64,
};

struct numbers {
    int32_t generator;
    enum kind kind;
    struct seed seed;
    uint64_t first, count, length;
    size_t head_length;
    const uint64_t *head;
    uint64_t digest;
};

struct scaled {
    enum kind kind;
    struct seed seed;
    double mean, deviation;
    size_t count;
    const uint64_t *bits;
};

#include "tables.h"

#define EACH(kind, table) \
    for (const struct kind *of = table; of < table + sizeof table / sizeof *table; of++)

static uint64_t digest(const uint64_t *values, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k < count; k++) {
        for (int shift = 0; shift < 64; shift += 8) {
            hash = (hash ^ (values[k] >> shift & 0xff)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

/* Memory for a number of items, also of none. */
static void *room(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static bs_permutation *make(enum order order, uint64_t length, uint64_t block, uint64_t window,
                            struct seed seed) {
    bs_permutation *p = NULL;
    const uint64_t epoch = seed.epoch;
    switch (order) {
    case NEW:
    case NEW_INVERSE:
        OK(seed.key ? bs_permutation_new_keyed(length, seed.key, epoch, &p)
                    : bs_permutation_new(length, seed.number, epoch, &p));
        break;
    case WALK:
    case WALK_INVERSE:
        OK(seed.key ? bs_permutation_walk_keyed(length, seed.key, epoch, &p)
                    : bs_permutation_walk(length, seed.number, epoch, &p));
        break;
    case BLOCKS:
        OK(seed.key ? bs_permutation_blocks_keyed(length, block, window, seed.key, epoch, &p)
                    : bs_permutation_blocks(length, block, window, seed.number, epoch, &p));
        break;
    }
    if (order == NEW_INVERSE || order == WALK_INVERSE) {
        bs_permutation *inverse = NULL;
        OK(bs_permutation_inverted(p, &inverse));
        bs_permutation_free(p);
        p = inverse;
    }
    return p;
}

/* All views of one permutation. */
static void order(const struct listed *of) {
    bs_permutation *p = make(of->order, of->length, of->block, of->window, of->seed);
    const size_t length = (size_t)of->length;
    CHECK(bs_permutation_length(p) == of->length);

    uint64_t *items = room(length, sizeof *items), *parts = room(length, sizeof *parts);
    OK(bs_permutation_range(p, 0, length, items));
    CHECK(memcmp(items, of->head, of->head_length * sizeof *items) == 0);
    CHECK(digest(items, length) == of->digest);

    /* In parts, and in 32 bits. */
    uint32_t *narrow = room(length, sizeof *narrow), *narrow_parts = room(length, sizeof *narrow);
    OK(bs_permutation_range_u32(p, 0, length, narrow));
    const size_t step = length / 3 + 1;
    for (size_t first = 0; first < length; first += step) {
        const size_t count = length - first < step ? length - first : step;
        OK(bs_permutation_range(p, first, count, parts + first));
        OK(bs_permutation_range_u32(p, first, count, narrow_parts + first));
    }
    CHECK(memcmp(items, parts, length * sizeof *items) == 0);
    CHECK(memcmp(narrow, narrow_parts, length * sizeof *narrow) == 0);
    for (size_t k = 0; k < length; k++) {
        CHECK(narrow[k] == items[k]);
    }

    /* Single places, and back. */
    for (size_t k = 0; k < length; k += length / 50 + 1) {
        uint64_t item = 0, place = 0;
        OK(bs_permutation_get(p, k, &item));
        OK(bs_permutation_position(p, item, &place));
        CHECK(item == items[k] && place == k);
    }

    /* Moved items of several sizes, alone and together, and back. */
    uint64_t *moved = room(length, sizeof *moved);
    struct { char text[5]; } *odd = room(length, sizeof *odd), *odd_before = room(length, sizeof *odd);
    for (size_t k = 0; k < length; k++) {
        moved[k] = k;
        memcpy(odd[k].text, &k, 5);
    }
    memcpy(odd_before, odd, length * sizeof *odd);
    const bs_array arrays[] = {{moved, sizeof *moved}, {odd, sizeof *odd}};
    OK(bs_permutation_apply(p, arrays, 1, length));
    CHECK(memcmp(moved, items, length * sizeof *items) == 0);
    OK(bs_permutation_unapply(p, arrays, 1, length));
    OK(bs_permutation_apply(p, arrays, 2, length));
    CHECK(memcmp(moved, items, length * sizeof *items) == 0);
    for (size_t k = 0; k < length; k++) {
        CHECK(memcmp(odd[k].text, &moved[k], 5) == 0);
    }
    OK(bs_permutation_unapply(p, arrays, 2, length));
    CHECK(memcmp(odd, odd_before, length * sizeof *odd) == 0);

    if (of->order == NEW && of->seed.key == NULL) {
        OK(bs_shuffle(moved, length, sizeof *moved, of->seed.number, of->seed.epoch));
        CHECK(memcmp(moved, items, length * sizeof *items) == 0);
        OK(bs_unshuffle(moved, length, sizeof *moved, of->seed.number, of->seed.epoch));
        OK(bs_shuffle_together(arrays, 2, length, of->seed.number, of->seed.epoch));
        CHECK(memcmp(moved, items, length * sizeof *items) == 0);
        OK(bs_unshuffle_together(arrays, 2, length, of->seed.number, of->seed.epoch));
        CHECK(memcmp(odd, odd_before, length * sizeof *odd) == 0);
        for (size_t k = 0; k < length; k++) {
            CHECK(moved[k] == k);
        }
    }
    free(odd_before);
    free(odd);
    free(moved);
    free(narrow_parts);
    free(narrow);
    free(parts);
    free(items);
    bs_permutation_free(p);
}

static void rows(const struct listed *of) {
    const size_t length = (size_t)of->length, count = (size_t)of->block;
    uint64_t *items = room(length * count, sizeof *items);
    for (size_t row = 0; row < count; row++) {
        struct seed seed = of->seed;
        seed.epoch += row;
        bs_permutation *p = make(NEW, of->length, 0, 0, seed);
        OK(bs_permutation_range(p, 0, length, items + row * length));
        bs_permutation_free(p);
    }
    CHECK(memcmp(items, of->head, of->head_length * sizeof *items) == 0);
    CHECK(digest(items, length * count) == of->digest);
    free(items);
}

static void points(const struct points *of) {
    bs_permutation *p = make(of->order, of->length, of->block, of->window, of->seed), *inverse = NULL;
    OK(bs_permutation_inverted(p, &inverse));
    CHECK(of->count == of->item_count);
    for (size_t k = 0; k < of->count; k++) {
        uint64_t item = 0, place = 0, again = 0;
        OK(bs_permutation_get(p, of->places[k], &item));
        OK(bs_permutation_position(p, of->items[k], &place));
        OK(bs_permutation_get(inverse, of->items[k], &again));
        CHECK(item == of->items[k] && place == of->places[k] && again == place);
        OK(bs_permutation_range(p, of->places[k], 1, &again));
        CHECK(again == item);
    }
    uint64_t none = 0;
    CHECK(bs_permutation_get(p, of->length, &none) == BS_ERROR_RANGE);
    CHECK(bs_permutation_position(p, UINT64_MAX, &none) == BS_ERROR_RANGE);
    bs_permutation_free(inverse);
    bs_permutation_free(p);
}

static void shard(const struct shard *of) {
    bs_permutation *p = make(WALK, of->length, 0, 0, (struct seed){NULL, 42, 0});
    uint64_t first = 0, count = 0;
    OK(bs_permutation_shard(p, of->rank, of->ranks, &first, &count));
    CHECK(first == of->start && count == of->end - of->start);
    bs_permutation_free(p);
}

/* The first items of a shuffle's order of any length are found without an index. */
static void sample(const struct sample *of) {
    bs_permutation *p = make(NEW, of->length, 0, 0, of->seed);
    uint64_t items[1000] = {0};
    OK(bs_permutation_range(p, 0, of->count, items));
    CHECK(memcmp(items, of->items, of->count * 8) == 0);
    bs_permutation_free(p);
}

static uint64_t value(void *context, uint64_t point) {
    return ((const struct list *)context)->values[point];
}

static uint64_t point(void *context, uint64_t of_value) {
    uint64_t point = 0;
    while (value(context, point) != of_value) {
        point += 1;
    }
    return point;
}

static void list(const struct list *of) {
    const bs_bijection f = {
        .context = (void *)of, .last = of->points - 1, .forward = value, .inverse = point};
    bs_permutation *p = NULL;
    uint64_t items[8] = {0};
    OK(bs_permutation_from_bijection(of->length, &f, &p));
    OK(bs_permutation_range(p, 0, of->count, items));
    CHECK(of->count == of->length && memcmp(items, of->compacted, of->count * 8) == 0);
    bs_permutation_free(p);
}

static bs_sampler *make_sampler(const struct sampler *of) {
    bs_sampler_options options = {0};
    options.length = of->length;
    options.seed = of->seed.number;
    options.key = of->seed.key;
    options.rank = of->rank;
    options.ranks = of->ranks;
    options.batch = of->batch;
    options.tail = of->tail;
    options.order = of->order;
    options.block = of->block;
    options.window = of->window;
    bs_sampler *made = NULL;
    OK(bs_sampler_new(&options, &made));
    return made;
}

static void epoch(const struct epoch *of) {
    bs_sampler *s = make_sampler(&of->sampler);
    OK(bs_sampler_set_epoch(s, of->epoch));
    CHECK(bs_sampler_epoch(s) == of->epoch && bs_sampler_steps(s) == of->steps);
    const size_t batch = (size_t)of->sampler.batch;
    uint64_t *items = room(batch, sizeof *items);
    const uint64_t *next = of->items;
    for (size_t step = 0; step < of->batch_count; step++) {
        size_t count = 0;
        OK(bs_sampler_next_batch(s, items, batch, &count));
        CHECK(count == of->batch_lengths[step]);
        CHECK(memcmp(items, next, count * sizeof *items) == 0);
        next += count;
    }
    size_t count = 77;
    CHECK(bs_sampler_next_batch(s, items, batch, &count) == BS_END && count == 77);
    CHECK(next == of->items + of->item_count && bs_sampler_consumed(s) == of->consumed);
    free(items);
    bs_sampler_free(s);
}

static void resume(const struct resume *of) {
    bs_sampler *s = make_sampler(&of->sampler);
    char text[BS_STATE_SIZE];
    OK(bs_sampler_resume(s, of->text));
    OK(bs_sampler_state(s, text, sizeof text));
    CHECK(strcmp(text, of->text) == 0 && bs_sampler_steps_remaining(s) == of->steps_remaining);
    const size_t batch = (size_t)of->sampler.batch;
    uint64_t *items = room(batch, sizeof *items);
    size_t count = 0;
    OK(bs_sampler_next_batch(s, items, batch, &count));
    CHECK(count == of->taken_count && memcmp(items, of->taken, count * sizeof *items) == 0);
    OK(bs_sampler_state(s, text, sizeof text));
    CHECK(strcmp(text, of->after) == 0);
    free(items);
    bs_sampler_free(s);
}

static void refused(const struct refused *of) {
    bs_sampler *s = make_sampler(&of->sampler);
    CHECK(bs_sampler_resume(s, of->text) == BS_ERROR_STATE);
    CHECK(bs_sampler_consumed(s) == 0 && bs_sampler_epoch(s) == 0);
    bs_sampler_free(s);
}

static void start(const struct start *of) {
    bs_generator *g = NULL;
    OK(of->seed.key
           ? bs_generator_new_keyed(of->generator, of->seed.key, of->seed.epoch, of->stream, &g)
           : bs_generator_new(of->generator, of->seed.number, of->seed.epoch, of->stream, &g));
    for (size_t k = 0; k < of->count; k++) {
        uint32_t number = 0;
        OK(bs_generator_fill_u32(g, &number, 1));
        CHECK(number == of->words[k]);
    }
    bs_generator_free(g);
}

/* Fills with numbers of a kind, and gives their bits. */
static void fill(bs_generator *g, enum kind kind, uint64_t *bits, size_t count, double mean,
                 double deviation) {
    uint32_t *narrow = room(count, sizeof *narrow);
    bool is_narrow = false;
    switch (kind) {
    case KIND_U32:
        is_narrow = true;
        OK(bs_generator_fill_u32(g, narrow, count));
        break;
    case KIND_U64:
        OK(bs_generator_fill_u64(g, bits, count));
        break;
    case KIND_F32:
        is_narrow = true;
        OK(bs_generator_fill_f32(g, (float *)(void *)narrow, count));
        break;
    case KIND_F64:
        OK(bs_generator_fill_f64(g, (double *)(void *)bits, count));
        break;
    case KIND_NORMAL_F32:
        is_narrow = true;
        OK(bs_generator_fill_normal_f32(g, (float *)(void *)narrow, count, (float)mean,
                                        (float)deviation));
        break;
    case KIND_NORMAL_F64:
        OK(bs_generator_fill_normal_f64(g, (double *)(void *)bits, count, mean, deviation));
        break;
    case KIND_EXPONENTIAL_F32:
        is_narrow = true;
        OK(bs_generator_fill_exponential_f32(g, (float *)(void *)narrow, count));
        break;
    case KIND_EXPONENTIAL_F64:
        OK(bs_generator_fill_exponential_f64(g, (double *)(void *)bits, count));
        break;
    }
    for (size_t k = 0; is_narrow && k < count; k++) {
        bits[k] = narrow[k];
    }
    free(narrow);
}

static void numbers(const struct numbers *of) {
    bs_generator *g = NULL;
    const struct seed seed = of->seed;
    OK(seed.key ? bs_generator_streams_keyed(of->generator, seed.key, seed.epoch, of->first,
                                             of->count, &g)
                : bs_generator_streams(of->generator, seed.number, seed.epoch, of->first,
                                       of->count, &g));
    const size_t length = (size_t)of->length;
    uint64_t *bits = room(length, sizeof *bits);
    fill(g, of->kind, bits, length, 0, 1);
    CHECK(memcmp(bits, of->head, of->head_length * sizeof *bits) == 0);
    CHECK(digest(bits, length) == of->digest);
    free(bits);
    bs_generator_free(g);
}

static void scaled(const struct scaled *of) {
    bs_generator *g = NULL;
    OK(bs_generator_new(BS_GENERATOR_PHILOX4X32, of->seed.number, of->seed.epoch, 0, &g));
    uint64_t *bits = room(of->count, sizeof *bits);
    fill(g, of->kind, bits, of->count, of->mean, of->deviation);
    CHECK(memcmp(bits, of->bits, of->count * sizeof *bits) == 0);
    free(bits);
    bs_generator_free(g);
}

int main(void) {
    EACH(listed, ORDERS) order(of);
    EACH(listed, ROWS) rows(of);
    EACH(points, POINTS) points(of);
    EACH(shard, SHARDS) shard(of);
    EACH(sample, SAMPLES) sample(of);
    EACH(list, LISTS) list(of);
    EACH(epoch, EPOCHS) epoch(of);
    EACH(resume, RESUMES) resume(of);
    EACH(refused, REFUSED) refused(of);
    EACH(start, STARTS) start(of);
    EACH(numbers, NUMBERS) numbers(of);
    EACH(scaled, SCALED) scaled(of);
    printf("vectors: %lu checks\n", checked);
    return 0;
}
