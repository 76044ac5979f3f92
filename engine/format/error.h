#pragma once

/* The one error domain of the houses that read and write bytes on disk. */

#include <glib.h>
#include <stdbool.h>

#define SUNDOG_FORMAT_ERROR (sundog_format_error_quark())

typedef enum {
    SUNDOG_FORMAT_ERROR_TRUNCATED,   /* Shorter than it says: fetch the file again. */
    SUNDOG_FORMAT_ERROR_INVALID,     /* A value that cannot be: the file is damaged or hostile. */
    SUNDOG_FORMAT_ERROR_UNSUPPORTED, /* Well-formed, but of a version or kind not known here. */
    SUNDOG_FORMAT_ERROR_SIGNATURE,   /* Not signed by a trusted key, or changed since. */
    SUNDOG_FORMAT_ERROR_IO,          /* The operating system refused; the text says why. */
} SundogFormatError;

GQuark sundog_format_error_quark(void);

/* g_set_error() that returns false, so that a check can end with `return`. */
bool sundog_error_set(GError **error, GQuark domain, int code, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Foreign text as it may stand in an error's text: quoted, escaped to ASCII and cut to 64 bytes.
 * NULL gives `missing`. Owned by the caller. */
char *sundog_format_quote(const char *text, const char *missing);
