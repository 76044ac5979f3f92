#pragma once

/* What each family's file gives to the table of recipes: the whole forward pass, emitted. Within this
 * house. */

#include "engine/recipe/builder.h"

/* BERT and XLM-RoBERTa: learned positions, and a norm of each half's sum. */
void sundog_bert_emit(SundogBuilder *builder);
/* Nomic BERT: the same with rotated positions and a gated MLP. */
void sundog_nomic_bert_emit(SundogBuilder *builder);
/* ModernBERT: norms before each half, a window in two of three layers. */
void sundog_modern_bert_emit(SundogBuilder *builder);
/* Cohere's Command models: attention and a gated MLP of one norm. */
void sundog_cohere2_emit(SundogBuilder *builder);
/* DeepSeek V2 and V3, Kimi K2: attention over latents, experts in groups. */
void sundog_deepseek2_emit(SundogBuilder *builder);
void sundog_deepseek2_emit_draft(SundogBuilder *builder);
/* EXAONE 4: norms after each half alone, heads of queries and keys normed. */
void sundog_exaone4_emit(SundogBuilder *builder);
/* Falcon: Phi-2 with another function, and in its larger sizes a norm of attention's own. */
void sundog_falcon_emit(SundogBuilder *builder);
/* Falcon-H1: Llama's layer with a state space beside its attention. */
void sundog_falcon_h1_emit(SundogBuilder *builder);
/* Gemma: Llama with another function in its MLP. */
void sundog_gemma_emit(SundogBuilder *builder);
/* Gemma 2: norms before and after each half. */
void sundog_gemma2_emit(SundogBuilder *builder);
/* Gemma 3: the same, with heads of queries and keys normed. */
void sundog_gemma3_emit(SundogBuilder *builder);
/* Gemma 3n: four streams, of which each layer works on one and corrects all (Baykal et al. 2023). */
void sundog_gemma3n_emit(SundogBuilder *builder);
/* Gemma 4: Gemma 3 with values normed too, heads of two sizes, layers that share what
 * others cached, and where the model is made so, an input of its own for each layer or experts beside the MLP. */
void sundog_gemma4_emit(SundogBuilder *builder);
/* GLM-4: norms before and after each half, pairs of neighbours rotated in a part of each head. */
void sundog_glm4_emit(SundogBuilder *builder);
/* GLM-4 MoE: Qwen3's or Llama's attention over a part of each head, and experts. */
void sundog_glm4_moe_emit(SundogBuilder *builder);
void sundog_glm4_moe_emit_draft(SundogBuilder *builder);
/* GPT-NeoX: attention and an MLP without gate, each of a norm of its own. */
void sundog_gpt_neox_emit(SundogBuilder *builder);
/* gpt-oss: attention with sinks and a window in every second layer, experts with biases. */
void sundog_gpt_oss_emit(SundogBuilder *builder);
/* Hunyuan, dense and with experts: Llama with heads of queries and keys normed after their rotation. */
void sundog_hunyuan_emit(SundogBuilder *builder);
/* The Llama family: norm, grouped-query attention, norm, gated MLP, a residual around each. Also Qwen2,
 * which adds biases to the projections and pairs the halves of a head; and both with experts: Mixtral,
 * Qwen2 MoE. ERNIE 4.5, StableLM, Granite, dense, with experts and with state spaces, Phi-3 and SmolLM3 differ in settings and files alone. */
void sundog_llama_emit(SundogBuilder *builder);
/* Llama 4: chunks of attention that rotate and are normed, and layers that see everything in turn. */
void sundog_llama4_emit(SundogBuilder *builder);
/* Nemotron-H, dense and with experts: each layer is a state space, attention or an MLP without gate. */
void sundog_nemotron_h_emit(SundogBuilder *builder);
/* OLMo 2 and 3: norms after each half alone, queries and keys normed over all heads together. */
void sundog_olmo2_emit(SundogBuilder *builder);
/* OLMoE and MiniMax M2: queries and keys normed over all heads together, and experts. */
void sundog_olmoe_emit(SundogBuilder *builder);
/* Phi-2: attention and an MLP without gate of one norm. */
void sundog_phi2_emit(SundogBuilder *builder);
/* Qwen3, Qwen3 MoE and dots.llm1: Llama with heads of queries and keys normed; and LFM2, of whose layers most are a
 * short convolution. */
void sundog_qwen3_emit(SundogBuilder *builder);
/* Qwen3-Next and Qwen 3.5: three layers of linear attention for one of gated attention. */
void sundog_qwen3_next_emit(SundogBuilder *builder);
void sundog_qwen3_next_emit_draft(SundogBuilder *builder);
/* Seed-OSS: Llama, with another name for the MLP's norm. */
void sundog_seed_oss_emit(SundogBuilder *builder);
/* StarCoder2: Llama with an MLP without gate. */
void sundog_starcoder2_emit(SundogBuilder *builder);
