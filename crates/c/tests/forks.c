/* A fork in the first moments of the library's threads, when some of what they use is behind locks.
 * Without a sanitizer, whose allocator has locks of its own that no fork waits for. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bijective_shuffle.h"
#include "check.h"

#define COUNT 300001

static void *shuffles(void *items) {
    uint64_t *numbers = items;
    for (size_t k = 0; k < COUNT; k++) {
        numbers[k] = k;
    }
    OK(bs_shuffle(numbers, COUNT, sizeof *numbers, 5, 0));
    return NULL;
}

int main(void) {
    static uint64_t items[COUNT], childs[COUNT];
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, shuffles, items) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        shuffles(childs);
        _exit(0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    printf("forks: %lu checks\n", checked);
    return 0;
}
