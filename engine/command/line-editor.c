/* Reads lines that a person types. */

#include "engine/command/line-editor.h"

#include "engine/command/interrupt.h"
#include "engine/command/line-history.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Longest line; a paste beyond it is cut. */
#define MAX_LINE_BYTES (1u << 20)

/* Keys beyond characters, above all of Unicode. */
enum {
    KEY_END_OF_INPUT = 0x110000,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_UP,
    KEY_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_PASTE_BEGIN,
    KEY_PASTE_END,
    KEY_UNKNOWN,
};

#define CONTROL(letter) ((letter)&0x1f)

struct SundogLineEditor {
    SundogLineHistory *history;
    GByteArray *input; /* read ahead */
    guint n_taken;     /* of input */
    /* The line under way. */
    GCancellable *cancellable;
    const char *prompt;
    GString *line;
    size_t cursor; /* byte */
    unsigned at;   /* in the history; its number of lines is the new line */
    char *draft;   /* the new line, while an old one is shown */
    bool pasting;
};

/* The terminal's mode before the first line, which is given back in a signal's handler too. */
static struct termios usual;
static volatile sig_atomic_t is_changed;

static void
restore_terminal(void)
{
    if (is_changed)
        tcsetattr(STDIN_FILENO, TCSANOW, &usual);
    is_changed = false;
}

SundogLineEditor *
sundog_line_editor_new(const char *history)
{
    SundogLineEditor *editor = g_new0(SundogLineEditor, 1);
    editor->history = sundog_line_history_new(history);
    editor->input = g_byte_array_new();
    editor->line = g_string_new(NULL);
    return editor;
}

void
sundog_line_editor_free(SundogLineEditor *editor)
{
    if (editor == NULL)
        return;
    restore_terminal();
    sundog_interrupt_set_farewell(NULL);
    sundog_line_history_free(editor->history);
    g_byte_array_unref(editor->input);
    g_string_free(editor->line, TRUE);
    g_free(editor->draft);
    g_free(editor);
}

/* Waits for input or the cancellable; false at the end of either. */
static bool
fill(SundogLineEditor *editor)
{
    GPollFD cancel = {.fd = -1};
    bool can_cancel =
        editor->cancellable != NULL && g_cancellable_make_pollfd(editor->cancellable, &cancel);
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = can_cancel ? cancel.fd : -1, .events = POLLIN}};
    int n_ready = poll(fds, G_N_ELEMENTS(fds), -1);
    if (can_cancel)
        g_cancellable_release_fd(editor->cancellable);
    if (n_ready < 0 ||
        (editor->cancellable != NULL && g_cancellable_is_cancelled(editor->cancellable)))
        return false;
    guint8 bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    g_byte_array_remove_range(editor->input, 0, editor->n_taken);
    editor->n_taken = 0;
    g_byte_array_append(editor->input, bytes, (guint)n);
    return true;
}

static int
next_byte(SundogLineEditor *editor)
{
    if (editor->n_taken == editor->input->len && !fill(editor))
        return -1;
    return editor->input->data[editor->n_taken++];
}

static gunichar
read_character(SundogLineEditor *editor, int first)
{
    int n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char bytes[4] = {(char)first};
    for (int i = 1; i < n; i++) {
        int byte = next_byte(editor);
        if (byte < 0)
            return KEY_END_OF_INPUT;
        bytes[i] = (char)byte;
    }
    gunichar c = g_utf8_get_char_validated(bytes, n);
    return c < 0x110000 ? c : KEY_UNKNOWN;
}

/* Sequences after ESC [ or ESC O: parameters, then a letter or ~. */
static gunichar
read_sequence(SundogLineEditor *editor)
{
    static const struct {
        const char *text;
        gunichar key;
    } keys[] = {
        {"A", KEY_UP},
        {"B", KEY_DOWN},
        {"C", KEY_RIGHT},
        {"D", KEY_LEFT},
        {"H", KEY_HOME},
        {"F", KEY_END},
        {"1~", KEY_HOME},
        {"4~", KEY_END},
        {"7~", KEY_HOME},
        {"8~", KEY_END},
        {"3~", KEY_DELETE},
        {"1;5D", KEY_WORD_LEFT},
        {"1;5C", KEY_WORD_RIGHT},
        {"200~", KEY_PASTE_BEGIN},
        {"201~", KEY_PASTE_END},
    };
    char text[16];
    size_t n = 0;
    int byte;
    do {
        byte = next_byte(editor);
        if (byte < 0)
            return KEY_END_OF_INPUT;
        text[n++] = (char)byte;
    } while (byte < 0x40 && n + 1 < sizeof text);
    text[n] = '\0';
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i].text, text) == 0)
            return keys[i].key;
    return KEY_UNKNOWN;
}

static gunichar
read_key(SundogLineEditor *editor)
{
    int byte = next_byte(editor);
    if (byte < 0)
        return KEY_END_OF_INPUT;
    if (byte != 0x1b)
        return byte < 0x80 ? (gunichar)byte : read_character(editor, byte);
    byte = next_byte(editor);
    if (byte == '[' || byte == 'O')
        return read_sequence(editor);
    return byte == 'b' ? KEY_WORD_LEFT : byte == 'f' ? KEY_WORD_RIGHT : KEY_UNKNOWN;
}

static unsigned
columns_of(gunichar c)
{
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

static unsigned
terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* What a line end of pasted text is shown as. */
static gunichar
shown(gunichar c)
{
    return c == '\n' ? 0x21b5 : c < 0x20 || c == 0x7f ? 0xfffd : c;
}

/* The first byte that is shown, such that the cursor is seen: one row, moved along under it. */
static const char *
first_shown(const SundogLineEditor *editor, unsigned columns)
{
    const char *start = editor->line->str;
    const char *from = start + editor->cursor;
    unsigned used = 0;
    while (from > start) {
        const char *previous = g_utf8_prev_char(from);
        unsigned width = columns_of(shown(g_utf8_get_char(previous)));
        if (used + width > columns)
            break;
        used += width;
        from = previous;
    }
    return from;
}

static void
draw(const SundogLineEditor *editor)
{
    unsigned prompt_columns = (unsigned)g_utf8_strlen(editor->prompt, -1);
    unsigned columns = terminal_columns();
    columns = columns > prompt_columns + 2 ? columns - prompt_columns - 1 : 1;
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out, "\r%s", editor->prompt);
    const char *cursor = editor->line->str + editor->cursor;
    unsigned used = 0, cursor_column = 0;
    for (const char *at = first_shown(editor, columns);; at = g_utf8_next_char(at)) {
        if (at == cursor)
            cursor_column = used;
        gunichar c = *at != '\0' ? shown(g_utf8_get_char(at)) : 0;
        if (c == 0 || used + columns_of(c) > columns)
            break;
        g_string_append_unichar(out, c);
        used += columns_of(c);
    }
    g_string_append(out, "\033[K\r");
    g_string_append_printf(out, "\033[%uC", prompt_columns + cursor_column);
    fwrite(out->str, 1, out->len, stdout);
    fflush(stdout);
}

static void
insert(SundogLineEditor *editor, gunichar c)
{
    if (editor->line->len > MAX_LINE_BYTES)
        return;
    char bytes[6];
    int n = g_unichar_to_utf8(c, bytes);
    g_string_insert_len(editor->line, (gssize)editor->cursor, bytes, n);
    editor->cursor += (size_t)n;
}

static size_t
previous(const SundogLineEditor *editor, size_t at)
{
    const char *text = editor->line->str;
    return at > 0 ? (size_t)(g_utf8_prev_char(text + at) - text) : 0;
}

static size_t
next(const SundogLineEditor *editor, size_t at)
{
    const char *text = editor->line->str;
    return at < editor->line->len ? (size_t)(g_utf8_next_char(text + at) - text) : at;
}

static size_t
previous_word(const SundogLineEditor *editor)
{
    const char *text = editor->line->str;
    size_t at = editor->cursor;
    while (at > 0 && text[previous(editor, at)] == ' ')
        at = previous(editor, at);
    while (at > 0 && text[previous(editor, at)] != ' ')
        at = previous(editor, at);
    return at;
}

static size_t
next_word(const SundogLineEditor *editor)
{
    const char *text = editor->line->str;
    size_t at = editor->cursor;
    while (text[at] == ' ')
        at++;
    while (text[at] != ' ' && text[at] != '\0')
        at = next(editor, at);
    return at;
}

static void
erase(SundogLineEditor *editor, size_t from, size_t to)
{
    g_string_erase(editor->line, (gssize)from, (gssize)(to - from));
    editor->cursor = from;
}

/* Shows another line of the history; past its end is the new line. */
static void
recall(SundogLineEditor *editor, int step)
{
    unsigned n = sundog_line_history_get_n_lines(editor->history);
    if ((step < 0 && editor->at == 0) || (step > 0 && editor->at == n))
        return;
    if (editor->at == n) {
        g_free(editor->draft);
        editor->draft = g_strdup(editor->line->str);
    }
    editor->at = step < 0 ? editor->at - 1 : editor->at + 1;
    const char *text =
        editor->at == n ? editor->draft : sundog_line_history_get_line(editor->history, editor->at);
    g_string_assign(editor->line, text);
    editor->cursor = editor->line->len;
}

static void
edit(SundogLineEditor *editor, gunichar key)
{
    switch (key) {
    case KEY_LEFT:
    case CONTROL('B'):
        editor->cursor = previous(editor, editor->cursor);
        break;
    case KEY_RIGHT:
    case CONTROL('F'):
        editor->cursor = next(editor, editor->cursor);
        break;
    case KEY_HOME:
    case CONTROL('A'):
        editor->cursor = 0;
        break;
    case KEY_END:
    case CONTROL('E'):
        editor->cursor = editor->line->len;
        break;
    case KEY_WORD_LEFT:
        editor->cursor = previous_word(editor);
        break;
    case KEY_WORD_RIGHT:
        editor->cursor = next_word(editor);
        break;
    case KEY_UP:
    case CONTROL('P'):
        recall(editor, -1);
        break;
    case KEY_DOWN:
    case CONTROL('N'):
        recall(editor, 1);
        break;
    case 0x7f:
    case CONTROL('H'):
        erase(editor, previous(editor, editor->cursor), editor->cursor);
        break;
    case KEY_DELETE:
    case CONTROL('D'):
        erase(editor, editor->cursor, next(editor, editor->cursor));
        break;
    case CONTROL('K'):
        erase(editor, editor->cursor, editor->line->len);
        break;
    case CONTROL('U'):
        erase(editor, 0, editor->cursor);
        break;
    case CONTROL('W'):
        erase(editor, previous_word(editor), editor->cursor);
        break;
    case CONTROL('L'):
        fputs("\033[H\033[2J", stdout);
        break;
    default:
        if (key >= 0x20 && key < KEY_END_OF_INPUT)
            insert(editor, key);
    }
}

/* Within a paste every key is text, so that its line ends do not send it. */
static void
paste(SundogLineEditor *editor, gunichar key)
{
    if (key == '\r' || key == '\n')
        insert(editor, '\n');
    else if (key == '\t' || (key >= 0x20 && key < KEY_END_OF_INPUT))
        insert(editor, key);
}

/* Edits until the line is sent: false at the end of input or after Ctrl+C on an empty line. */
static bool
edit_line(SundogLineEditor *editor)
{
    for (;;) {
        if (editor->n_taken == editor->input->len)
            draw(editor);
        gunichar key = read_key(editor);
        bool is_empty = editor->line->len == 0;
        if (key == KEY_END_OF_INPUT ||
            ((key == CONTROL('C') || key == CONTROL('D')) && is_empty && !editor->pasting))
            return false;
        if (key == KEY_PASTE_BEGIN || key == KEY_PASTE_END)
            editor->pasting = key == KEY_PASTE_BEGIN;
        else if (editor->pasting)
            paste(editor, key);
        else if (key == '\r' || key == '\n')
            return true;
        else if (key == CONTROL('C'))
            erase(editor, 0, editor->line->len);
        else
            edit(editor, key);
    }
}

static bool
remember_usual(void)
{
    if (is_changed)
        return true;
    if (tcgetattr(STDIN_FILENO, &usual) != 0)
        return false;
    sundog_interrupt_set_farewell(restore_terminal);
    is_changed = true;
    return true;
}

/* Every key comes as it is and nothing is shown; signals: Ctrl+C and the like are no keys. */
static void
set_mode(bool signals)
{
    struct termios mode = usual;
    mode.c_iflag &= ~(tcflag_t)ICRNL;
    mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    if (!signals) {
        mode.c_iflag &= ~(tcflag_t)IXON;
        mode.c_lflag &= ~(tcflag_t)(ISIG | IEXTEN);
    }
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

static char *
read_edited(SundogLineEditor *editor)
{
    if (!remember_usual())
        return NULL;
    g_string_truncate(editor->line, 0);
    editor->cursor = 0;
    editor->pasting = false;
    editor->at = sundog_line_history_get_n_lines(editor->history);
    set_mode(false);
    fputs("\033[?2004h", stdout); /* pasted text comes between marks */
    bool sent = edit_line(editor);
    editor->cursor = editor->line->len;
    draw(editor);
    fputs("\033[?2004l\n", stdout);
    fflush(stdout);
    set_mode(true);
    return sent ? g_strdup(editor->line->str) : NULL;
}

static char *
read_plain(SundogLineEditor *editor)
{
    g_autoptr(GString) line = g_string_new(NULL);
    int byte;
    while ((byte = next_byte(editor)) >= 0 && byte != '\n')
        if (line->len < MAX_LINE_BYTES)
            g_string_append_c(line, (char)byte);
    if (byte < 0 && line->len == 0)
        return NULL;
    return g_utf8_make_valid(line->str, (gssize)line->len);
}

char *
sundog_line_editor_read(SundogLineEditor *editor, const char *prompt, GCancellable *cancellable)
{
    editor->prompt = prompt;
    editor->cancellable = cancellable;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return read_plain(editor);
    char *line = read_edited(editor);
    if (line != NULL)
        sundog_line_history_add(editor->history, line);
    return line;
}
