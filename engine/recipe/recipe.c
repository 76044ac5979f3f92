/* The table of recipes. */

#include "engine/recipe/recipe.h"
