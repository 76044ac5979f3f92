#pragma once

/*
 * The app: one instance a session, which owns what all windows and pages share (client, supervisor,
 * feed, chats, settings) and the actions of the main menu. Main thread.
 */

#include "app/chats/chats.h"
#include "app/chats/shelf.h"
#include "app/server/server-feed.h"
#include <gtk/gtk.h>

#define SUNDOG_APPLICATION_ID "org.sundog.Sundog"

#define SUNDOG_TYPE_APPLICATION (sundog_application_get_type())
G_DECLARE_FINAL_TYPE(SundogApplication, sundog_application, SUNDOG, APPLICATION, GtkApplication)

SundogApplication *sundog_application_new(void);
/* The running application; borrowed. */
SundogApplication *sundog_application_get(void);
/* All borrowed. Where the chat file could not be opened, chats are kept in memory alone. */
SundogClient *sundog_application_get_client(SundogApplication *application);
SundogSupervisor *sundog_application_get_supervisor(SundogApplication *application);
SundogServerFeed *sundog_application_get_feed(SundogApplication *application);
SundogShelf *sundog_application_get_shelf(SundogApplication *application);
SundogChats *sundog_application_get_chats(SundogApplication *application);
GSettings *sundog_application_get_settings(SundogApplication *application);
/* Why the chat file could not be opened, or NULL; borrowed. */
const char *sundog_application_get_chats_problem(SundogApplication *application);
