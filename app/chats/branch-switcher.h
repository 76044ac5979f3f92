#pragma once

/* "2 / 3" with a button to either side; hidden where a message has no alternatives. Signal: "switch"
 * (step, -1 or 1). */

#include "app/conversation/message.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_BRANCH_SWITCHER (sundog_branch_switcher_get_type())
G_DECLARE_FINAL_TYPE(SundogBranchSwitcher, sundog_branch_switcher, SUNDOG, BRANCH_SWITCHER,
                     GtkWidget)

void sundog_branch_switcher_set_message(SundogBranchSwitcher *switcher, SundogMessage *message);
