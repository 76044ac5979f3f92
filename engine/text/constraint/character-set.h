#pragma once

/* Sets of code points as ordered ranges that neither touch nor overlap, once normalised. One thread. */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_LAST_CODE_POINT 0x10FFFFu

typedef struct {
    uint32_t low;
    uint32_t high; /* in the set itself */
} SundogCharacterRange;

/* A GArray of SundogCharacterRange; the caller's. */
GArray *sundog_character_set_new(void);
void sundog_character_set_add(GArray *set, uint32_t low, uint32_t high);
/* Adds the set of a class letter, one of "dwsDWS", in ASCII as JSON Schema's expressions have it. */
void sundog_character_set_add_class(GArray *set, char letter);
/* Orders and joins the ranges; adding is done. */
void sundog_character_set_normalise(GArray *set);
/* Of a normalised set: all other code points. */
void sundog_character_set_invert(GArray *set);
