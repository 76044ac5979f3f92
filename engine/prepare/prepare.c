/* From a model to a core. */

#include "engine/prepare/prepare.h"
