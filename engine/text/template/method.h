#pragma once

/* What the files of methods share. */

#include "engine/text/template/evaluate.h"

/* A method that makes another string of a string, or one that asks about it; NULL where there is none. */
SundogCallable sundog_string_method_find(const char *name);
SundogCallable sundog_string_query_find(const char *name);

/* Whether the bytes from one place to another begin, or end, with the affix. */
bool sundog_string_matches_at_edge(SundogRender *render, const SundogString *string,
                                   const SundogString *affix, size_t from, size_t to, bool at_end);
