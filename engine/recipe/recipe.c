/* The table of recipes, and the program of sampling, which all share. */

#include "engine/recipe/recipe.h"

#include "engine/core/step.h"
#include "engine/format/error.h"
#include "engine/recipe/builder.h"
#include "engine/recipe/families.h"
#include "kernels/contract/sample.h"

#include <string.h>

/* clang-format off */
static const SundogRecipe recipes[] = {
    {"bert", "BERT", sundog_bert_emit},
    {"cohere2", "Cohere2", sundog_cohere2_emit},
    {"command-r", "Command R", sundog_cohere2_emit},
    {"deepseek2", "DeepSeek V2", sundog_deepseek2_emit, sundog_deepseek2_emit_draft},
    {"deepseek32", "DeepSeek V3.2", sundog_deepseek2_emit},
    {"dots1", "dots.llm1", sundog_qwen3_emit},
    {"ernie4_5", "ERNIE 4.5", sundog_llama_emit},
    {"ernie4_5-moe", "ERNIE 4.5 MoE", sundog_llama_emit},
    {"exaone4", "EXAONE 4", sundog_exaone4_emit},
    {"falcon", "Falcon", sundog_falcon_emit},
    {"falcon-h1", "Falcon-H1", sundog_falcon_h1_emit},
    {"gemma", "Gemma", sundog_gemma_emit},
    {"gemma-embedding", "EmbeddingGemma", sundog_gemma3_emit},
    {"gemma2", "Gemma 2", sundog_gemma2_emit},
    {"gemma3", "Gemma 3", sundog_gemma3_emit},
    {"gemma3n", "Gemma 3n", sundog_gemma3n_emit},
    {"gemma4", "Gemma 4", sundog_gemma4_emit},
    {"glm-dsa", "GLM-5", sundog_deepseek2_emit},
    {"glm4", "GLM-4", sundog_glm4_emit},
    {"glm4moe", "GLM-4 MoE", sundog_glm4_moe_emit, sundog_glm4_moe_emit_draft},
    {"gpt-oss", "gpt-oss", sundog_gpt_oss_emit},
    {"gptneox", "GPT-NeoX", sundog_gpt_neox_emit},
    {"granite", "Granite", sundog_llama_emit},
    {"granitehybrid", "Granite 4", sundog_llama_emit},
    {"granitemoe", "Granite MoE", sundog_llama_emit},
    {"hunyuan-dense", "Hunyuan", sundog_hunyuan_emit},
    {"hunyuan-moe", "Hunyuan MoE", sundog_hunyuan_emit},
    {"lfm2", "LFM2", sundog_qwen3_emit},
    {"lfm2moe", "LFM2 MoE", sundog_qwen3_emit},
    {"llama", "Llama", sundog_llama_emit},
    {"llama4", "Llama 4", sundog_llama4_emit},
    {"mamba2", "Mamba-2", sundog_nemotron_h_emit},
    {"minimax-m2", "MiniMax M2", sundog_olmoe_emit},
    {"mistral3", "Mistral 3", sundog_llama_emit},
    {"modern-bert", "ModernBERT", sundog_modern_bert_emit},
    {"nemotron_h", "Nemotron-H", sundog_nemotron_h_emit},
    {"nemotron_h_moe", "Nemotron-H MoE", sundog_nemotron_h_emit},
    {"nomic-bert", "Nomic BERT", sundog_nomic_bert_emit},
    {"olmo2", "OLMo 2", sundog_olmo2_emit},
    {"olmoe", "OLMoE", sundog_olmoe_emit},
    {"phi2", "Phi-2", sundog_phi2_emit},
    {"phi3", "Phi-3", sundog_llama_emit},
    {"phimoe", "Phi-3.5 MoE", sundog_llama_emit},
    {"qwen2", "Qwen2", sundog_llama_emit},
    {"qwen2moe", "Qwen2 MoE", sundog_llama_emit},
    {"qwen2vl", "Qwen2-VL", sundog_llama_emit},
    {"qwen3", "Qwen3", sundog_qwen3_emit},
    {"qwen35", "Qwen3.5", sundog_qwen3_next_emit, sundog_qwen3_next_emit_draft},
    {"qwen35moe", "Qwen3.5 MoE", sundog_qwen3_next_emit, sundog_qwen3_next_emit_draft},
    {"qwen3moe", "Qwen3 MoE", sundog_qwen3_emit},
    {"qwen3next", "Qwen3-Next", sundog_qwen3_next_emit, sundog_qwen3_next_emit_draft},
    {"qwen3vl", "Qwen3-VL", sundog_qwen3_emit},
    {"qwen3vlmoe", "Qwen3-VL MoE", sundog_qwen3_emit},
    {"seed_oss", "Seed-OSS", sundog_seed_oss_emit},
    {"smollm3", "SmolLM3", sundog_llama_emit},
    {"stablelm", "StableLM", sundog_llama_emit},
    {"starcoder2", "StarCoder2", sundog_starcoder2_emit},
};
/* clang-format on */

const SundogRecipe *
sundog_recipe_find(const char *architecture, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(recipes); i++) {
        if (strcmp(recipes[i].architecture, architecture) == 0)
            return &recipes[i];
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", recipes[i].architecture);
    }
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "there is no recipe for the architecture \"%s\"; known are: %s", architecture,
                known->str);
    return NULL;
}

bool
sundog_recipe_build_forward(const SundogRecipe *recipe, const SundogModel *model,
                            const SundogRecipeOptions *options, SundogRecipeForward *forward,
                            GError **error)
{
    SundogBuilder builder;
    sundog_builder_init(&builder, model, options);
    if (builder.error == NULL)
        recipe->emit(&builder);
    sundog_builder_refuse_unused(&builder);
    return sundog_builder_finish(&builder, forward, error);
}

bool
sundog_recipe_has_draft(const SundogRecipe *recipe, const SundogModel *model)
{
    static const SundogTensorRole needed[] = {
        SUNDOG_TENSOR_DRAFT_PROJECTION, SUNDOG_TENSOR_DRAFT_TOKEN_NORM,
        SUNDOG_TENSOR_DRAFT_HIDDEN_NORM, SUNDOG_TENSOR_ATTENTION_NORM};
    uint32_t layer = sundog_model_get_dimensions(model)->n_layers;
    bool has_all = recipe->emit_draft != NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
        has_all = has_all && sundog_model_get_tensor(model, needed[i], layer) != NULL;
    return has_all;
}

bool
sundog_recipe_build_draft(const SundogRecipe *recipe, const SundogModel *model,
                          const SundogRecipeOptions *options, uint32_t n_caches,
                          SundogRecipeForward *draft, GError **error)
{
    SundogBuilder builder;
    sundog_builder_init(&builder, model, options);
    sundog_program_set_name(builder.program, SUNDOG_PROGRAM_DRAFT);
    builder.n_caches = n_caches;
    builder.layer = builder.dimensions->n_layers;
    if (builder.error == NULL)
        recipe->emit_draft(&builder);
    return sundog_builder_finish(&builder, draft, error);
}

static SundogBufferId
add_buffer(SundogProgram *program, const char *name, SundogBufferRole role, SundogDtype dtype,
           SundogVariable first, SundogExpression second)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    SundogBuffer buffer = {.name = name,
                           .role = role,
                           .dtype = dtype,
                           .rank = 2,
                           .shape = {sundog_expression_variable(pool, first), second}};
    return sundog_program_add_buffer(program, &buffer);
}

static SundogBufferId
add_token(SundogProgram *program)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    SundogBuffer buffer = {.name = "token",
                           .role = SUNDOG_BUFFER_OUTPUT,
                           .dtype = SUNDOG_DTYPE_I32,
                           .rank = 1,
                           .shape = {sundog_expression_variable(pool, SUNDOG_VARIABLE_LOGIT_ROWS)}};
    return sundog_program_add_buffer(program, &buffer);
}

SundogProgram *
sundog_recipe_build_sample(uint32_t n_vocabulary, const SundogShape *bounds)
{
    SundogProgram *program = sundog_program_new(SUNDOG_PROGRAM_SAMPLE);
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    SundogOperation operation;
    memset(&operation, 0, sizeof(operation));
    memset(operation.arguments, 0xff, sizeof(operation.arguments));
    sundog_program_set_bounds(program, bounds);
    operation.kind = SUNDOG_OP_SAMPLE;
    operation.arguments[0] =
        add_buffer(program, "logits", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_F32,
                   SUNDOG_VARIABLE_LOGIT_ROWS, sundog_expression_constant(pool, n_vocabulary));
    operation.arguments[1] = add_buffer(program, "sampling", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_U8,
                                        SUNDOG_VARIABLE_LOGIT_ROWS,
                                        sundog_expression_constant(pool, sizeof(SundogSampling)));
    operation.arguments[2] = add_buffer(program, "history", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32,
                                        SUNDOG_VARIABLE_LOGIT_ROWS,
                                        sundog_expression_variable(pool, SUNDOG_VARIABLE_HISTORY));
    operation.arguments[3] = add_buffer(program, "mask", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32,
                                        SUNDOG_VARIABLE_LOGIT_ROWS,
                                        sundog_expression_variable(pool, SUNDOG_VARIABLE_MASK));
    operation.arguments[4] = add_buffer(program, "bias", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32,
                                        SUNDOG_VARIABLE_LOGIT_ROWS,
                                        sundog_expression_variable(pool, SUNDOG_VARIABLE_BIAS));
    operation.arguments[5] = add_token(program);
    operation.arguments[6] = add_buffer(
        program, "workspace", SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_U8, SUNDOG_VARIABLE_UNITS,
        sundog_expression_constant(pool, (int64_t)sundog_sample_workspace_bytes(n_vocabulary)));
    operation.arguments[7] = add_buffer(
        program, "scores", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_I32, SUNDOG_VARIABLE_LOGIT_ROWS,
        sundog_expression_constant(pool, SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS));
    sundog_program_add_operation(program, &operation);
    return program;
}

void
sundog_recipe_forward_clear(SundogRecipeForward *forward)
{
    g_clear_pointer(&forward->program, sundog_program_free);
    g_clear_pointer(&forward->constants, g_ptr_array_unref);
}

const SundogRecipeConstant *
sundog_recipe_forward_find(const SundogRecipeForward *forward, const char *name)
{
    for (guint i = 0; i < forward->constants->len; i++) {
        const SundogRecipeConstant *constant = forward->constants->pdata[i];
        if (strcmp(constant->name, name) == 0)
            return constant;
    }
    return NULL;
}
