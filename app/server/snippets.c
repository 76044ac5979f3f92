/* One table of names and templates. ADDRESS, KEY and MODEL are replaced. */

#include "app/server/snippets.h"
#include <glib.h>

static const char *const names[] = {"curl", "Python (openai)", "JavaScript (openai)", "Environment",
                                    NULL};

static const char *const templates[] = {
    "curl ADDRESS/v1/chat/completions \\\n"
    "  -H \"Content-Type: application/json\" \\\n"
    "  -H \"Authorization: Bearer KEY\" \\\n"
    "  -d '{\"model\": \"MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'",

    "from openai import OpenAI\n\n"
    "client = OpenAI(base_url=\"ADDRESS/v1\", api_key=\"KEY\")\n"
    "answer = client.chat.completions.create(\n"
    "    model=\"MODEL\",\n"
    "    messages=[{\"role\": \"user\", \"content\": \"Hello\"}],\n"
    ")\n"
    "print(answer.choices[0].message.content)",

    "import OpenAI from \"openai\";\n\n"
    "const client = new OpenAI({ baseURL: \"ADDRESS/v1\", apiKey: \"KEY\" });\n"
    "const answer = await client.chat.completions.create({\n"
    "  model: \"MODEL\",\n"
    "  messages: [{ role: \"user\", content: \"Hello\" }],\n"
    "});\n"
    "console.log(answer.choices[0].message.content);",

    "export OPENAI_BASE_URL=ADDRESS/v1\n"
    "export OPENAI_API_KEY=KEY",
};

const char *const *
sundog_snippets_get_names(void)
{
    return names;
}

char *
sundog_snippets_dup(unsigned index, const char *address, const char *key, const char *core)
{
    g_return_val_if_fail(index < G_N_ELEMENTS(templates), NULL);
    GString *text = g_string_new(templates[index]);
    g_string_replace(text, "ADDRESS", address, 0);
    g_string_replace(text, "KEY\"", key ? "\001\"" : "none\"", 0);
    g_string_replace(text, "API_KEY=KEY", key ? "API_KEY=\001" : "API_KEY=none", 0);
    g_string_replace(text, "\001", key ? key : "", 0);
    g_string_replace(text, "MODEL", core ? core : "default", 0);
    return g_string_free(text, FALSE);
}
