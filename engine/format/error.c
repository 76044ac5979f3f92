/* The error domain of the format house. */

#include "engine/format/error.h"

/* The macro makes a string of its first argument, which clang-format would space out. */
/* clang-format off */
G_DEFINE_QUARK(sundog-format-error-quark, sundog_format_error)
/* clang-format on */
