/* A model opened from a GGUF file. */

#include "engine/model/model.h"
