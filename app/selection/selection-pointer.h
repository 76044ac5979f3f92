#pragma once

/* Selecting with the pointer, and scrolling where a drag goes beyond the edge. */

#include "app/selection/selection-area.h"

void sundog_selection_pointer_attach(SundogSelectionArea *area);
