/* Linked into the instrumented program: keeps, for every sampled point, how often it was reached and the
   distinct values of its slots, or, where these are many, the smallest, the largest and the distance that
   divides all their differences; writes them out when the program ends. Compiled without
   instrumentation; where MemorySanitizer is linked in, its shadow is asked whether a value was initialized. */
#include <stdio.h>
#include <stdlib.h>

#define MAX_POINTS 65536
#ifndef MAX_VALUES
#error the caller says how many values a slot keeps
#endif

extern long __msan_test_shadow(const volatile void *, unsigned long) __attribute__((weak));

struct slot {
    long long values[MAX_VALUES];
    long long low, high;
    unsigned long long step;
    unsigned char count, poisoned, many;
};

struct point {
    unsigned long hits;
    int slots;
    struct slot *slot;
};

static struct point points[MAX_POINTS];

/* Widens the interval and the congruence of a slot by one value. */
static void widen(struct slot *slot, long long value)
{
    unsigned long long a = slot->step, b;
    b = value < slot->values[0] ? (unsigned long long)slot->values[0] - (unsigned long long)value
                                : (unsigned long long)value - (unsigned long long)slot->values[0];
    if (value < slot->low)
        slot->low = value;
    if (value > slot->high)
        slot->high = value;
    if (a == 1 || (a && b % a == 0))
        return;
    while (b) {
        unsigned long long rest = a % b;
        a = b;
        b = rest;
    }
    slot->step = a;
}

void __tl_point(int id, const long long *values, int slots)
{
    struct point *point = &points[id];
    int i, j;
    if (!point->hits++ && slots) {
        point->slots = slots;
        point->slot = calloc((unsigned long)slots, sizeof(struct slot));
    }
    if (!point->slot)
        return;
    for (i = 0; i < slots; i++) {
        struct slot *slot = &point->slot[i];
        if (slot->poisoned)
            continue;
        if (__msan_test_shadow && __msan_test_shadow(&values[i], sizeof values[i]) != -1) {
            slot->poisoned = 1;
            continue;
        }
        if (slot->many) {
            widen(slot, values[i]);
            continue;
        }
        for (j = 0; j < slot->count && slot->values[j] != values[i]; j++)
            ;
        if (j < slot->count)
            continue;
        if (slot->count < MAX_VALUES) {
            slot->values[slot->count++] = values[i];
            continue;
        }
        slot->many = 1;
        slot->low = slot->high = slot->values[0];
        for (j = 1; j < slot->count; j++)
            widen(slot, slot->values[j]);
        widen(slot, values[i]);
    }
}

/* The last of all destructors: those of the program are part of what it does. */
__attribute__((destructor(0))) static void write_profile(void)
{
    const char *path = getenv("TRUELINE_PROFILE");
    FILE *file = path ? fopen(path, "w") : 0;
    int i, j, k;
    if (!file)
        return;
    for (i = 0; i < MAX_POINTS; i++) {
        if (!points[i].hits)
            continue;
        fprintf(file, "p %d %lu\n", i, points[i].hits);
        for (j = 0; j < points[i].slots; j++) {
            struct slot *slot = &points[i].slot[j];
            if (slot->poisoned)
                continue;
            if (slot->many) {
                fprintf(file, "r %d %lld %lld %llu\n", j, slot->low, slot->high, slot->step);
                continue;
            }
            fprintf(file, "s %d", j);
            for (k = 0; k < slot->count; k++)
                fprintf(file, " %lld", slot->values[k]);
            fputc('\n', file);
        }
    }
    fputs("end\n", file);
    fclose(file);
}
