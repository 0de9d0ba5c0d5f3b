/* The C library of bijective-shuffle: shuffles data and indexes into pseudo-random permutations.
 *
 * cbindgen wrote this file from the sources in crates/c; do not change it by hand.
 *
 * These rules hold for all functions.
 *
 * - A function that can fail returns a `bs_status`, which is BS_OK (0) for success. The text of the
 *   calling thread's last failure is `bs_error_text()`. Unless the function says otherwise, nothing
 *   has been changed after a failure, and a pointer to a result has not been written to.
 * - A pointer must not be null unless the function says that it may be, or BS_ERROR_NULL is
 *   returned. A pointer to an array may be null if the array has no items. What a pointer leads to
 *   must be aligned for its type, and must exist for the whole call. Nothing else may write to it
 *   during the call, nor read it if the function writes.
 * - `bs_permutation`, `bs_sampler` and `bs_generator` are made by the functions that take a pointer
 *   to a pointer, and freed by `bs_..._free`, each once. A null pointer may be freed too.
 * - A permutation never changes, so any number of threads may use one at the same time. A sampler or
 *   a generator may be used by one thread at a time.
 * - A seed is a number, or a key of 32 bytes for the functions whose names end in `_keyed`. The epoch
 *   is a second number, which gives one order after another; it is usually 0.
 * - An order depends on the length, the seed and the epoch alone: not on the items' size, the number
 *   of threads or the machine. The crate and the other packages give the same order.
 */

#ifndef BIJECTIVE_SHUFFLE_H
#define BIJECTIVE_SHUFFLE_H


#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function has done its work.
 */
#define BS_OK 0

/**
 * A sampler's epoch is over. This is not a failure, and has no error text.
 */
#define BS_END 1

/**
 * A pointer that must not be null is null.
 */
#define BS_ERROR_NULL 2

/**
 * An argument is outside the range that the function takes.
 */
#define BS_ERROR_ARGUMENT 3

/**
 * An array has the wrong length.
 */
#define BS_ERROR_LENGTH 4

/**
 * There is no such place, item, rank or epoch.
 */
#define BS_ERROR_RANGE 5

/**
 * There is not enough memory.
 */
#define BS_ERROR_MEMORY 6

/**
 * A map that was passed in is not a bijection.
 */
#define BS_ERROR_NOT_A_BIJECTION 7

/**
 * The order is so long that single places need an index, which is built only on request: by
 * bs_permutation_build_index. Orders of bs_permutation_walk need none.
 */
#define BS_ERROR_INDEX_NOT_BUILT 8

/**
 * A text is not a saved state, or is the state of another sampler.
 */
#define BS_ERROR_STATE 9

/**
 * Threads cannot be started.
 */
#define BS_ERROR_THREADS 10

/**
 * The library failed, or a function that was passed in panicked. Results are unspecified, and a
 * sampler or a generator that was in use must only be freed.
 */
#define BS_ERROR_INTERNAL 11

/**
 * The order is repeated from its start until every rank has the same number of items.
 */
#define BS_TAIL_PAD 0

/**
 * The remaining items are dealt out; a rank's last batch is shorter, or empty.
 */
#define BS_TAIL_SHORT 1

/**
 * The order is repeated from its start until every rank has a full batch.
 */
#define BS_TAIL_FILL 2

/**
 * The last step is skipped, and some items are left out.
 */
#define BS_TAIL_DROP 3

/**
 * The order of bs_permutation_walk for each epoch.
 */
#define BS_ORDER_SHUFFLED 0

/**
 * The order of bs_permutation_blocks for each epoch.
 */
#define BS_ORDER_BLOCKS 1

/**
 * The items in their own order.
 */
#define BS_ORDER_SEQUENTIAL 2

/**
 * The most bytes that the text of a sampler's state takes, with its terminating zero.
 */
#define BS_STATE_SIZE 68

/**
 * Philox4x32-10, which is counter-based. Recommended.
 */
#define BS_GENERATOR_PHILOX4X32 0

/**
 * A linear congruential generator with a state of 32 bits.
 */
#define BS_GENERATOR_LCG32 1

/**
 * A linear congruential generator with a state of 64 bits.
 */
#define BS_GENERATOR_LCG64 2

/**
 * Multiply with carry.
 */
#define BS_GENERATOR_MWC 3

/**
 * Marsaglia's XORWOW.
 */
#define BS_GENERATOR_XORWOW 4

/**
 * A xorshift generator of 1024 bits with a Weyl sequence.
 */
#define BS_GENERATOR_XORSHIFT1024_WEYL 5

/**
 * A lagged Fibonacci generator with lags 521 and 353.
 */
#define BS_GENERATOR_LAGGED_FIBONACCI521 6

/**
 * A lagged Fibonacci generator with lags 1279 and 861.
 */
#define BS_GENERATOR_LAGGED_FIBONACCI1279 7

/**
 * A stream of random numbers, or several that are filled row by row. The same seed gives the same
 * bits on every machine.
 */
typedef struct bs_generator bs_generator;

/**
 * A permutation of the numbers from 0 up to, but not including, a length. It stores a few numbers,
 * whatever its length.
 */
typedef struct bs_permutation bs_permutation;

/**
 * Deals out the items of one epoch after another to ranks, in batches.
 */
typedef struct bs_sampler bs_sampler;

/**
 * What a function returns: BS_OK, or what went wrong.
 */
typedef int32_t bs_status;

/**
 * An array whose items are moved together with those of others.
 */
typedef struct bs_array {
    /**
     * The first item. Items are moved as bytes, so they need no alignment; items of 1, 2, 4, 8 and
     * 16 bytes are moved faster if they are aligned like an integer of their size.
     */
    void *items;
    /**
     * The bytes of an item: at least 1.
     */
    size_t item_size;
} bs_array;

/**
 * A bijection of your own: it maps the points 0 to `last` to the same points, no two to one.
 *
 * The functions are called by several threads at the same time, and have to return the same values
 * whenever they are asked. They must neither jump nor throw out of a call; the C++ header catches
 * what yours throw. That the values are a permutation is checked before any item is moved by them,
 * so a wrong function loses nothing.
 *
 * A value above `last` ends the call with BS_ERROR_NOT_A_BIJECTION. So a function that fails
 * returns UINT64_MAX, unless that is `last`.
 *
 * Set all fields to zero, and then those that matter.
 */
typedef struct bs_bijection {
    /**
     * Passed to every function. May be null.
     */
    void *context;
    /**
     * The last point: the number of points, less 1.
     */
    uint64_t last;
    /**
     * The value of a point from 0 to `last`.
     */
    uint64_t (*forward)(void *context, uint64_t point);
    /**
     * The point of a value from 0 to `last`.
     */
    uint64_t (*inverse)(void *context, uint64_t value);
    /**
     * Writes the values of the points `first`, `first + 1` and so on to `values`, `count` of them.
     * May be null; it saves calls.
     */
    void (*forward_run)(void *context, uint64_t first, uint64_t *values, size_t count);
    /**
     * Frees the context. May be null. It is called once, by the thread that frees the last
     * permutation of this bijection, and not at all if no permutation was made.
     */
    void (*free_context)(void *context);
    /**
     * Null pointers, or BS_ERROR_ARGUMENT is returned. Later versions may use them.
     */
    void *reserved[4];
} bs_bijection;

/**
 * What a sampler deals out, and to whom. Set all fields to zero, and then those that matter.
 */
typedef struct bs_sampler_options {
    /**
     * The number of items: at least 1.
     */
    uint64_t length;
    /**
     * The seed, unless there is a key.
     */
    uint64_t seed;
    /**
     * 32 bytes that are the seed, or null. They are copied.
     */
    const uint8_t *key;
    /**
     * This rank: from 0 to `ranks - 1`.
     */
    uint64_t rank;
    /**
     * The number of ranks: at least 1.
     */
    uint64_t ranks;
    /**
     * The number of items that a rank takes in a step: at least 1.
     */
    uint64_t batch;
    /**
     * What happens in the last step of an epoch if fewer items are left: BS_TAIL_PAD or another.
     */
    int32_t tail;
    /**
     * The order of the items: BS_ORDER_SHUFFLED or another.
     */
    int32_t order;
    /**
     * For BS_ORDER_BLOCKS, the number of items in a block: at least 1.
     */
    uint64_t block;
    /**
     * For BS_ORDER_BLOCKS, the number of blocks in a window: at least 1.
     */
    uint64_t window;
    /**
     * Zeros, or BS_ERROR_ARGUMENT is returned. Later versions may use them.
     */
    uint64_t reserved[4];
} bs_sampler_options;

/**
 * The text of the calling thread's last failure: a sentence in English, in UTF-8; empty if no
 * function has failed yet.
 *
 * It exists until the next failure of the same thread, or the thread's end, and must not be freed.
 */
const char *bs_error_text(void);

/**
 * The version of the library, such as "0.1.0". The text is never freed.
 */
const char *bs_version(void);

/**
 * Limits the threads that all calls of this process share from now on to `count`; 0 removes the
 * limit. Without a limit there are as many as the environment variable RAYON_NUM_THREADS says, or
 * one for each processor.
 *
 * The threads of each number that was asked for are started when they are first needed, and kept.
 * After a fork, the child starts threads of its own.
 */
bs_status bs_set_threads(size_t count);

/**
 * Writes the number of threads that calls share to `*count`, and starts them if there are none
 * yet.
 *
 * # Safety
 *
 * `count` leads to memory for a number.
 */
bs_status bs_threads(size_t *count);

/**
 * Shuffles an array of `count` items of `item_size` bytes: the item that was at index
 * `order[place]` is then at `place`, in the order of bs_permutation_new for the same length, seed
 * and epoch.
 *
 * The array is shuffled in place, with little extra memory. If that cannot be allocated, the
 * function returns BS_ERROR_MEMORY and the items are unchanged.
 *
 * # Safety
 *
 * `items` leads to an array of `count` items.
 */
bs_status bs_shuffle(void *items, size_t count, size_t item_size, uint64_t seed, uint64_t epoch);

/**
 * Undoes bs_shuffle with the same arguments.
 *
 * # Safety
 *
 * `items` leads to an array of `count` items.
 */
bs_status bs_unshuffle(void *items, size_t count, size_t item_size, uint64_t seed, uint64_t epoch);

/**
 * Shuffles several arrays, each of `count` items, in the order that bs_shuffle would give each
 * alone: what was together at one index stays together. Arrays that share memory are refused.
 *
 * # Safety
 *
 * `arrays` leads to `array_count` arrays, and each to `count` items.
 */
bs_status bs_shuffle_together(const struct bs_array *arrays,
                              size_t array_count,
                              size_t count,
                              uint64_t seed,
                              uint64_t epoch);

/**
 * Undoes bs_shuffle_together with the same arguments.
 *
 * # Safety
 *
 * `arrays` leads to `array_count` arrays, and each to `count` items.
 */
bs_status bs_unshuffle_together(const struct bs_array *arrays,
                                size_t array_count,
                                size_t count,
                                uint64_t seed,
                                uint64_t epoch);

/**
 * Shuffles one or several arrays by a permutation. Each has as many items as the permutation,
 * whose length `count` repeats, so that a mistake is refused by BS_ERROR_LENGTH.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed. `arrays` leads to `array_count` arrays,
 * and each to `count` items.
 */
bs_status bs_permutation_apply(const struct bs_permutation *permutation,
                               const struct bs_array *arrays,
                               size_t array_count,
                               size_t count);

/**
 * Undoes bs_permutation_apply with the same arguments.
 *
 * # Safety
 *
 * As for bs_permutation_apply.
 */
bs_status bs_permutation_unapply(const struct bs_permutation *permutation,
                                 const struct bs_array *arrays,
                                 size_t array_count,
                                 size_t count);

/**
 * Makes the permutation of `length` items that a seed determines: the order of bs_shuffle.
 *
 * If the length is at most 256 or a power of two, a place or an index is looked up by one
 * evaluation. Otherwise one near either end is found by counting from there, and the first look-up
 * elsewhere builds an index of about 0.1 bits an item, by one pass over all items. For more than
 * 2^33 items only bs_permutation_build_index builds it; until then, look-ups more than about 2^19
 * places from both ends return BS_ERROR_INDEX_NOT_BUILT. Use bs_permutation_walk to look up single
 * places of long orders.
 *
 * # Safety
 *
 * `permutation` leads to memory for a pointer.
 */
bs_status bs_permutation_new(uint64_t length,
                             uint64_t seed,
                             uint64_t epoch,
                             struct bs_permutation **permutation);

/**
 * bs_permutation_new with a key of 32 bytes.
 *
 * # Safety
 *
 * `key` leads to 32 bytes, and `permutation` to memory for a pointer.
 */
bs_status bs_permutation_new_keyed(uint64_t length,
                                   const uint8_t *key,
                                   uint64_t epoch,
                                   struct bs_permutation **permutation);

/**
 * Makes another permutation of `length` items that a seed determines, in which any place and any
 * index is looked up at once, at any length.
 *
 * # Safety
 *
 * `permutation` leads to memory for a pointer.
 */
bs_status bs_permutation_walk(uint64_t length,
                              uint64_t seed,
                              uint64_t epoch,
                              struct bs_permutation **permutation);

/**
 * bs_permutation_walk with a key of 32 bytes.
 *
 * # Safety
 *
 * `key` leads to 32 bytes, and `permutation` to memory for a pointer.
 */
bs_status bs_permutation_walk_keyed(uint64_t length,
                                    const uint8_t *key,
                                    uint64_t epoch,
                                    struct bs_permutation **permutation);

/**
 * Makes an order for items that are stored in blocks of `block` items; the last block may be
 * shorter. Whole blocks are read in random order, and the items of each `window` consecutive
 * blocks of that order are shuffled among each other. All three numbers are at least 1. Any place
 * and any index is looked up at once.
 *
 * # Safety
 *
 * `permutation` leads to memory for a pointer.
 */
bs_status bs_permutation_blocks(uint64_t length,
                                uint64_t block,
                                uint64_t window,
                                uint64_t seed,
                                uint64_t epoch,
                                struct bs_permutation **permutation);

/**
 * bs_permutation_blocks with a key of 32 bytes.
 *
 * # Safety
 *
 * `key` leads to 32 bytes, and `permutation` to memory for a pointer.
 */
bs_status bs_permutation_blocks_keyed(uint64_t length,
                                      uint64_t block,
                                      uint64_t window,
                                      const uint8_t *key,
                                      uint64_t epoch,
                                      struct bs_permutation **permutation);

/**
 * Makes the permutation of `length` items from a bijection of your own: its values at 0, 1 and so
 * on that are below `length`. There must be `length` of them. The bijection has at least `length`
 * points.
 *
 * If the functions are not a bijection, moving items by them or writing all indexes returns
 * BS_ERROR_NOT_A_BIJECTION.
 *
 * # Safety
 *
 * `bijection` leads to a bijection that keeps the rules of its type; it is copied. `permutation`
 * leads to memory for a pointer.
 */
bs_status bs_permutation_from_bijection(uint64_t length,
                                        const struct bs_bijection *bijection,
                                        struct bs_permutation **permutation);

/**
 * Makes the inverse of a permutation: its index at place k is the place of index k.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed, and `inverse` leads to memory for a
 * pointer.
 */
bs_status bs_permutation_inverted(const struct bs_permutation *permutation,
                                  struct bs_permutation **inverse);

/**
 * Frees a permutation.
 *
 * # Safety
 *
 * `permutation` is null, or was made by this library, has not been freed and is not used any more.
 */
void bs_permutation_free(struct bs_permutation *permutation);

/**
 * The number of items of a permutation; 0 for a null pointer.
 *
 * # Safety
 *
 * `permutation` is null, or was made by this library and not freed.
 */
uint64_t bs_permutation_length(const struct bs_permutation *permutation);

/**
 * Writes the index at a place to `*index`: bs_permutation_apply moves the item at that index to
 * the place.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed, and `index` leads to memory for a number.
 */
bs_status bs_permutation_get(const struct bs_permutation *permutation,
                             uint64_t place,
                             uint64_t *index);

/**
 * Writes the place of an index to `*place`: the `place` at which bs_permutation_get gives `index`.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed, and `place` leads to memory for a number.
 */
bs_status bs_permutation_position(const struct bs_permutation *permutation,
                                  uint64_t index,
                                  uint64_t *place);

/**
 * Builds the index that single places need, if they need one, by one pass over all items. It takes
 * about 0.1 bits an item.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed.
 */
bs_status bs_permutation_build_index(const struct bs_permutation *permutation);

/**
 * Writes the indexes at the places `first`, `first + 1` and so on to `indexes`, `count` of them.
 * All places at once are written by all threads.
 *
 * After BS_ERROR_NOT_A_BIJECTION, BS_ERROR_MEMORY and BS_ERROR_INTERNAL the numbers in `indexes`
 * are unspecified.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed, and `indexes` leads to memory for `count`
 * numbers.
 */
bs_status bs_permutation_range(const struct bs_permutation *permutation,
                               uint64_t first,
                               size_t count,
                               uint64_t *indexes);

/**
 * bs_permutation_range for numbers of 32 bits. Permutations of more than 2^32 items are refused.
 *
 * # Safety
 *
 * As for bs_permutation_range.
 */
bs_status bs_permutation_range_u32(const struct bs_permutation *permutation,
                                   uint64_t first,
                                   size_t count,
                                   uint32_t *indexes);

/**
 * Writes the first place of a worker's share to `*first`, and the number of its places to
 * `*count`. The shares of the ranks 0 to `ranks - 1` are the places in order, and differ in length
 * by at most 1.
 *
 * # Safety
 *
 * `permutation` was made by this library and not freed; `first` and `count` lead to memory for
 * numbers.
 */
bs_status bs_permutation_shard(const struct bs_permutation *permutation,
                               uint64_t rank,
                               uint64_t ranks,
                               uint64_t *first,
                               uint64_t *count);

/**
 * Makes a sampler, at the beginning of epoch 0.
 *
 * # Safety
 *
 * `options` leads to options whose key is null or leads to 32 bytes, and `sampler` to memory for a
 * pointer.
 */
bs_status bs_sampler_new(const struct bs_sampler_options *options, struct bs_sampler **sampler);

/**
 * Frees a sampler.
 *
 * # Safety
 *
 * `sampler` is null, or was made by this library, has not been freed and is not used any more.
 */
void bs_sampler_free(struct bs_sampler *sampler);

/**
 * Takes the rank's next batch: writes its items to `items` and their number to `*count`. Returns
 * BS_END, and writes nothing, if the epoch is over. A step may have no items for a rank, with the
 * tail BS_TAIL_SHORT.
 *
 * `room` is the number of items that there is memory for. While there is a step left, less than a
 * batch is refused by BS_ERROR_LENGTH, and the batch is not taken.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed; `items` leads to memory for `room` numbers,
 * and `count` to memory for one.
 */
bs_status bs_sampler_next_batch(struct bs_sampler *sampler,
                                uint64_t *items,
                                size_t room,
                                size_t *count);

/**
 * Goes to the beginning of the next epoch. Epoch 2^64 - 1 is the last: there the call returns
 * BS_ERROR_RANGE, and the sampler stays where it is.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed.
 */
bs_status bs_sampler_next_epoch(struct bs_sampler *sampler);

/**
 * Goes to the beginning of an epoch.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed.
 */
bs_status bs_sampler_set_epoch(struct bs_sampler *sampler, uint64_t epoch);

/**
 * The epoch that a sampler is in; 0 for a null pointer.
 *
 * # Safety
 *
 * `sampler` is null, or was made by this library and not freed.
 */
uint64_t bs_sampler_epoch(const struct bs_sampler *sampler);

/**
 * The number of places of the epoch that all ranks together have consumed; 0 for a null pointer.
 *
 * # Safety
 *
 * `sampler` is null, or was made by this library and not freed.
 */
uint64_t bs_sampler_consumed(const struct bs_sampler *sampler);

/**
 * The number of steps of a whole epoch, the same for every rank; 0 for a null pointer.
 *
 * # Safety
 *
 * `sampler` is null, or was made by this library and not freed.
 */
uint64_t bs_sampler_steps(const struct bs_sampler *sampler);

/**
 * The number of steps that remain in the epoch, the same for every rank; 0 for a null pointer.
 *
 * # Safety
 *
 * `sampler` is null, or was made by this library and not freed.
 */
uint64_t bs_sampler_steps_remaining(const struct bs_sampler *sampler);

/**
 * Writes the sampler's state as a zero-terminated text, to `size` bytes from `text` on.
 * BS_STATE_SIZE bytes are always enough; fewer than the text takes are refused by BS_ERROR_LENGTH.
 *
 * The state says how far all ranks are, so that a sampler of the same length, seed and order
 * resumes from it, with any rank, number of ranks, batch and tail.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed, and `text` leads to memory for `size` bytes.
 */
bs_status bs_sampler_state(const struct bs_sampler *sampler, char *text, size_t size);

/**
 * Writes the state that the sampler, and any other of its length, seed and order, has after all
 * ranks together have taken `consumed` items of an epoch, as bs_sampler_state writes one. It draws
 * no items, and the sampler stays where it is. More items than an epoch has are refused by
 * BS_ERROR_RANGE.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed, and `text` leads to memory for `size` bytes.
 */
bs_status bs_sampler_state_at(const struct bs_sampler *sampler,
                              uint64_t epoch,
                              uint64_t consumed,
                              char *text,
                              size_t size);

/**
 * Continues from a saved state. A text that is not a state, or is the state of a sampler with
 * another length, seed or order, returns BS_ERROR_STATE, and the sampler stays where it is.
 *
 * # Safety
 *
 * `sampler` was made by this library and not freed, and `text` leads to a text that ends with a
 * zero.
 */
bs_status bs_sampler_resume(struct bs_sampler *sampler, const char *text);

/**
 * Makes one stream of a generator: `generator` is a BS_GENERATOR_.., and `stream` any number. The
 * streams of a seed are independent.
 *
 * # Safety
 *
 * `made` leads to memory for a pointer.
 */
bs_status bs_generator_new(int32_t generator,
                           uint64_t seed,
                           uint64_t epoch,
                           uint64_t stream,
                           struct bs_generator **made);

/**
 * bs_generator_new with a key of 32 bytes.
 *
 * # Safety
 *
 * `key` leads to 32 bytes, and `made` to memory for a pointer.
 */
bs_status bs_generator_new_keyed(int32_t generator,
                                 const uint8_t *key,
                                 uint64_t epoch,
                                 uint64_t stream,
                                 struct bs_generator **made);

/**
 * Makes `count` streams of a generator, from number `first` on, that are filled row by row: a
 * block of the first stream, one of the second, and so on. Long fills are shared by all threads.
 * The numbers depend on how many streams there are, and not on the threads.
 *
 * A fill draws whole rows. What does not fit is dropped, and the next fill goes on with the next
 * row.
 *
 * # Safety
 *
 * `made` leads to memory for a pointer.
 */
bs_status bs_generator_streams(int32_t generator,
                               uint64_t seed,
                               uint64_t epoch,
                               uint64_t first,
                               uint64_t count,
                               struct bs_generator **made);

/**
 * bs_generator_streams with a key of 32 bytes.
 *
 * # Safety
 *
 * `key` leads to 32 bytes, and `made` to memory for a pointer.
 */
bs_status bs_generator_streams_keyed(int32_t generator,
                                     const uint8_t *key,
                                     uint64_t epoch,
                                     uint64_t first,
                                     uint64_t count,
                                     struct bs_generator **made);

/**
 * Frees a generator.
 *
 * # Safety
 *
 * `generator` is null, or was made by this library, has not been freed and is not used any more.
 */
void bs_generator_free(struct bs_generator *generator);

/**
 * Fills an array with integers of 32 bits.
 *
 * # Safety
 *
 * `generator` was made by this library and not freed, and `numbers` leads to memory for `count`
 * numbers.
 */
bs_status bs_generator_fill_u32(struct bs_generator *generator, uint32_t *numbers, size_t count);

/**
 * Fills an array with integers of 64 bits.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_u64(struct bs_generator *generator, uint64_t *numbers, size_t count);

/**
 * Fills an array with numbers that are uniform from 0 up to, but not including, 1, with 24 random
 * bits.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_f32(struct bs_generator *generator, float *numbers, size_t count);

/**
 * Fills an array with numbers that are uniform from 0 up to, but not including, 1, with 53 random
 * bits.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_f64(struct bs_generator *generator, double *numbers, size_t count);

/**
 * Fills an array with normal numbers of a mean and a standard deviation: `mean + deviation * x`,
 * for an `x` of mean 0 and deviation 1.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_normal_f32(struct bs_generator *generator,
                                       float *numbers,
                                       size_t count,
                                       float mean,
                                       float deviation);

/**
 * Fills an array with normal numbers of a mean and a standard deviation, as
 * bs_generator_fill_normal_f32 does.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_normal_f64(struct bs_generator *generator,
                                       double *numbers,
                                       size_t count,
                                       double mean,
                                       double deviation);

/**
 * Fills an array with exponential numbers of mean 1.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_exponential_f32(struct bs_generator *generator,
                                            float *numbers,
                                            size_t count);

/**
 * Fills an array with exponential numbers of mean 1.
 *
 * # Safety
 *
 * As for bs_generator_fill_u32.
 */
bs_status bs_generator_fill_exponential_f64(struct bs_generator *generator,
                                            double *numbers,
                                            size_t count);

#ifdef __cplusplus
}
#endif

#endif
