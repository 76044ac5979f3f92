#pragma once

/* How a model that scores by what it would write next reads a query and a document. Within this house. */

#include "engine/model/model.h"

/* The text with {query} and {document} in the places of both: what the chat template makes of messages in
 * these two roles, else what the model's files or its makers say. NULL where the two stand alone. Owned
 * by the caller. */
char *sundog_pair_template_dup(const SundogModel *model);
