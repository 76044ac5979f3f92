/* Programs: building and looking at them. */

#include "engine/core/program.h"
