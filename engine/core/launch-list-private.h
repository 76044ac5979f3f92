#pragma once

/* How a launch list lies in memory. Within this house: its own files alone. */

#include "engine/core/launch-list.h"

struct SundogLaunchList {
    SundogExpressionPool *expressions;
    GStringChunk *strings;
    GArray *modules;        /* of SundogLaunchModule */
    GArray *variants;       /* of SundogLaunchVariant */
    GArray *launches;       /* of SundogLaunch */
    GArray *fields;         /* of SundogLaunchField */
    GByteArray *parameters; /* of all launches */
};

/* An empty list over a pool, which it takes. */
SundogLaunchList *sundog_launch_list_new_empty(SundogExpressionPool *expressions);
