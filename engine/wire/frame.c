/* Frames on pipes. */

#include "engine/wire/frame.h"
