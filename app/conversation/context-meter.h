#pragma once

/*
 * How many tokens of its model's context a chat takes, before anything is sent: what the last answer
 * used, by the server's own count, and the text being typed, tokenized by the server a moment after the
 * last key. The model is the one that the chat's next message goes to, whatever others are loaded. Signal:
 * "changed". Main thread.
 */

#include "app/chats/chat.h"
#include "app/chats/shelf.h"
#include "app/conversation/message.h"

#define SUNDOG_TYPE_CONTEXT_METER (sundog_context_meter_get_type())
G_DECLARE_FINAL_TYPE(SundogContextMeter, sundog_context_meter, SUNDOG, CONTEXT_METER, GObject)

SundogContextMeter *sundog_context_meter_new(SundogClient *client, SundogServerFeed *feed,
                                             SundogShelf *shelf);
void sundog_context_meter_set_chat(SundogContextMeter *meter, SundogChat *chat);
/* The chat's last answer that has figures, or NULL where there is none. */
void sundog_context_meter_set_answer(SundogContextMeter *meter, SundogMessage *last);
void sundog_context_meter_set_text(SundogContextMeter *meter, const char *text);
int sundog_context_meter_get_used(SundogContextMeter *meter);
/* 0 while not known. */
int sundog_context_meter_get_total(SundogContextMeter *meter);
