#pragma once

/*
 * The one bounded reader for bytes that come from outside: little-endian numbers, strings and
 * arrays, each length checked against what is left before it is believed. The first failure is kept
 * and every later read returns zero or NULL, so a parser may read a whole struct and ask once.
 *
 * Usage: init over bytes that outlive the reader, read, then sundog_reader_finish(). No thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data;
    size_t size;
    size_t pos;
    const char *what; /* What is read, for error texts: "GGUF header"; borrowed. */
    GError *error;    /* The first failure, owned until finish. */
} SundogReader;

void sundog_reader_init(SundogReader *reader, const void *data, size_t size, const char *what);
size_t sundog_reader_left(const SundogReader *reader);
bool sundog_reader_ok(const SundogReader *reader);

uint8_t sundog_reader_u8(SundogReader *reader);
uint16_t sundog_reader_u16(SundogReader *reader);
uint32_t sundog_reader_u32(SundogReader *reader);
uint64_t sundog_reader_u64(SundogReader *reader);
float sundog_reader_f32(SundogReader *reader);
double sundog_reader_f64(SundogReader *reader);

/* Borrows n_bytes from the data; NULL on failure, and only then. */
const uint8_t *sundog_reader_bytes(SundogReader *reader, uint64_t n_bytes);

/* A u32 length and that many bytes, which must be UTF-8 without NUL. Returns an owned,
 * NUL-terminated copy, or NULL. */
char *sundog_reader_dup_string(SundogReader *reader);

/* A u64 count for elements of at least min_bytes each: fails where they cannot fit what is left. */
uint64_t sundog_reader_count(SundogReader *reader, size_t min_bytes);

/* Moves to the next multiple of alignment (a power of two), counted from the start. */
void sundog_reader_align(SundogReader *reader, size_t alignment);

/* Records a failure found by the caller, with the position added to the text. */
void sundog_reader_fail(SundogReader *reader, int code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Ends the reading: true if nothing failed, else hands the first failure over. */
bool sundog_reader_finish(SundogReader *reader, GError **error);
