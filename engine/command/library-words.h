#pragma once

/* The names that commands take, looked up in the library, with what to do where one is not there. */

#include "engine/core/core.h"
#include "engine/library/catalogue.h"
#include "engine/library/library.h"

/* A core by name or path; where only a model of that name is there, the error says to prepare it. */
SundogLibraryEntry *sundog_words_find_core(SundogLibrary *library, const char *name,
                                           GError **error);
/* The same opened, with its entry. */
SundogCore *sundog_words_open_core(SundogLibrary *library, const char *name,
                                   SundogLibraryEntry **entry, GError **error);
/* A model by name or path; where only the catalogue has it, the error says to pull it. */
SundogLibraryEntry *sundog_words_find_model(SundogLibrary *library, const char *name,
                                            GError **error);
