#pragma once

/* What an engine cannot run without end or bound, found in an automaton before it is sent. */

#include "engine/wire/automaton.h"

/* False where a rule begins by calling itself, or repeats what may be empty a bounded number of times. */
bool sundog_automaton_check(const SundogAutomaton *automaton, GError **error);
