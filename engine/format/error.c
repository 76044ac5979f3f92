/* The error domain of the format house. */

#include "engine/format/error.h"

G_DEFINE_QUARK(sundog - format - error - quark, sundog_format_error)
