/* Byte-level BPE. */

#include "engine/text/tokenizer.h"
