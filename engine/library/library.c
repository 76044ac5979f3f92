/* The models and cores on disk. */

#include "engine/library/library.h"
