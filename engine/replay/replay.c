/* Replays a core's programs on the host. */

#include "engine/replay/replay.h"
