/* A list under a short lock. */

#include "engine/schedule/inbox.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

/* What an item costs besides its bytes: a flood of small frames is bounded too. */
#define ITEM_BYTES 256

struct SundogInbox {
    /* Not GLib's, whose futexes the thread sanitizer cannot see. */
    pthread_mutex_t lock;
    pthread_cond_t came;  /* something for the loop */
    pthread_cond_t taken; /* room for the reader */
    GArray *items;
    size_t n_bytes;
    SundogInboxState state;
};

static void
clear_item(gpointer data)
{
    SundogInboxItem *item = data;
    g_clear_pointer(&item->payload, g_variant_unref);
}

GArray *
sundog_inbox_items_new(void)
{
    GArray *items = g_array_new(FALSE, FALSE, sizeof(SundogInboxItem));
    g_array_set_clear_func(items, clear_item);
    return items;
}

SundogInbox *
sundog_inbox_new(void)
{
    SundogInbox *inbox = g_new0(SundogInbox, 1);
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&inbox->came, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&inbox->taken, NULL);
    inbox->items = sundog_inbox_items_new();
    return inbox;
}

void
sundog_inbox_free(SundogInbox *inbox)
{
    if (inbox) {
        g_array_unref(inbox->items);
        pthread_cond_destroy(&inbox->came);
        pthread_cond_destroy(&inbox->taken);
        pthread_mutex_destroy(&inbox->lock);
        g_free(inbox);
    }
}

static void
set_state(SundogInbox *inbox, SundogInboxState state)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->state = MAX(inbox->state, state);
    pthread_cond_signal(&inbox->came);
    pthread_mutex_unlock(&inbox->lock);
}

static void
push(SundogInbox *inbox, uint32_t type, GVariant *payload)
{
    SundogInboxItem item = {type, payload, g_get_monotonic_time()};
    pthread_mutex_lock(&inbox->lock);
    while (inbox->n_bytes > SUNDOG_INBOX_MAX_BYTES)
        pthread_cond_wait(&inbox->taken, &inbox->lock);
    g_array_append_val(inbox->items, item);
    inbox->n_bytes += g_variant_get_size(payload) + ITEM_BYTES;
    pthread_cond_signal(&inbox->came);
    pthread_mutex_unlock(&inbox->lock);
}

static bool
push_frames(SundogInbox *inbox, SundogFrameDecoder *decoder)
{
    for (;;) {
        uint32_t type;
        GVariant *payload;
        g_autoptr(GError) error = NULL;
        if (!sundog_frame_decoder_next(decoder, &type, &payload, &error)) {
            g_printerr("sundog-engine: the server sent %s\n", error->message);
            return false;
        }
        if (!payload)
            return true;
        push(inbox, type, payload);
    }
}

/* One read; false at the end. */
static bool
read_some(SundogInbox *inbox, int fd, SundogFrameDecoder *decoder)
{
    char buffer[64 << 10];
    ssize_t n_read = read(fd, buffer, sizeof buffer);
    if (n_read > 0) {
        sundog_frame_decoder_feed(decoder, buffer, (size_t)n_read);
        return push_frames(inbox, decoder);
    }
    return n_read < 0 && (errno == EINTR || errno == EAGAIN);
}

void
sundog_inbox_read(SundogInbox *inbox, int fd, int stop_fd)
{
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    struct pollfd ends[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    for (;;) {
        if (poll(ends, G_N_ELEMENTS(ends), -1) < 0 && errno != EINTR)
            break;
        if (ends[1].revents) {
            ends[1].fd = -1;
            ends[1].revents = 0;
            set_state(inbox, SUNDOG_INBOX_DRAINING);
        }
        if (ends[0].revents && !read_some(inbox, fd, decoder))
            break;
    }
    set_state(inbox, SUNDOG_INBOX_ENDED);
}

/* With the lock held. */
static void
wait_for_items(SundogInbox *inbox, int64_t wait_us)
{
    int64_t end_us = g_get_monotonic_time() + MAX(wait_us, 0);
    struct timespec end = {end_us / G_USEC_PER_SEC, end_us % G_USEC_PER_SEC * 1000};
    int result = 0;
    while (inbox->items->len == 0 && inbox->state == SUNDOG_INBOX_OPEN && result != ETIMEDOUT) {
        result = wait_us < 0 ? pthread_cond_wait(&inbox->came, &inbox->lock)
                             : pthread_cond_timedwait(&inbox->came, &inbox->lock, &end);
    }
}

SundogInboxState
sundog_inbox_take(SundogInbox *inbox, GArray *items, int64_t wait_us)
{
    g_array_set_size(items, 0);
    pthread_mutex_lock(&inbox->lock);
    if (wait_us != 0)
        wait_for_items(inbox, wait_us);
    SundogInboxState state = inbox->state;
    if (inbox->items->len > 0) {
        g_array_append_vals(items, inbox->items->data, inbox->items->len);
        /* The payloads have moved: emptied without clearing. */
        g_array_set_clear_func(inbox->items, NULL);
        g_array_set_size(inbox->items, 0);
        g_array_set_clear_func(inbox->items, clear_item);
        inbox->n_bytes = 0;
        pthread_cond_signal(&inbox->taken);
    }
    pthread_mutex_unlock(&inbox->lock);
    return state;
}
