/* Checks that count, and say where they fail. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

static unsigned long checked;

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        checked += 1;                                                                      \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
                    bs_error_text());                                                      \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

#define OK(call) CHECK((call) == BS_OK)

#endif
