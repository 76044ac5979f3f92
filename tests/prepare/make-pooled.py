#!/usr/bin/env python3
"""A tiny random model of each family that gives vectors or scores, and its results from transformers.

  make-pooled.py LLAMA_CPP OUTPUT [NAME ...]     writes OUTPUT/NAME.json and OUTPUT/NAME.gguf, or for
                                                 names with "hf-" the folder OUTPUT/NAME

transformers makes the model and gives the rows; pooling is this script's. GGUF files come from the
converter of the llama.cpp source at LLAMA_CPP, which needs the folder that sentence-transformers would
save: pooling and dense layers. Texts are of several lengths, one longer than a page. Needs torch,
transformers, tokenizers and what the converter needs.
"""

import importlib
import json
import os
import sys
import tempfile

import safetensors.torch
import torch
import transformers

converted = importlib.import_module('make-converted')

VOCABULARY = converted.VOCABULARY
LENGTHS = [1, 13, 100, 64]
YES, NO = 7, 20

SIZES = {'vocab_size': VOCABULARY, 'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 2,
         'num_attention_heads': 4, 'max_position_embeddings': 128, 'initializer_range': 0.2,
         'bos_token_id': 0, 'eos_token_id': 0, 'pad_token_id': 0, 'attention_dropout': 0.0,
         'hidden_dropout_prob': 0.0, 'attention_probs_dropout_prob': 0.0}
DECODER = {'num_key_value_heads': 2, 'head_dim': 16, 'rms_norm_eps': 1e-5}
ROBERTA = {'max_position_embeddings': 130, 'pad_token_id': 1, 'type_vocab_size': 1}
MODERN = {'num_hidden_layers': 4, 'local_attention': 16, 'head_dim': None}
GEMMA = {**DECODER, 'num_hidden_layers': 3, 'sliding_window': 24, 'use_bidirectional_attention': True,
         'query_pre_attn_scalar': 16, 'attn_logit_softcapping': None, 'final_logit_softcapping': None,
         'layer_types': ['sliding_attention', 'sliding_attention', 'full_attention']}
SCORES = {'num_labels': 1}

# name: transformers' classes begin with, their ending, pooling, configuration
MODELS = {
    'bert': ('Bert', 'BertModel', 'mean', {}),
    # The file says nothing of which layers see everything: every sixth.
    'gemma-embedding': ('Gemma3Text', 'Gemma3TextModel', 'mean',
                        {**GEMMA, 'num_hidden_layers': 6, 'layer_types': None, 'intermediate_size': 16}),
    'hf-bert-scores': ('Bert', 'BertForSequenceClassification', 'scores', SCORES),
    'hf-gemma-embedding': ('Gemma3Text', 'Gemma3TextModel', 'mean', GEMMA),
    'hf-modern-bert': ('ModernBert', 'ModernBertModel', 'first', MODERN),
    'hf-modern-bert-scores': ('ModernBert', 'ModernBertForSequenceClassification', 'scores',
                              {**MODERN, **SCORES, 'classifier_pooling': 'mean'}),
    'hf-nomic-bert': ('NomicBert', 'NomicBertModel', 'mean', {}),
    'hf-qwen3-logit-scores': ('Qwen3', 'Qwen3ForCausalLM', 'logits', DECODER),
    'hf-qwen3-scores': ('Qwen3', 'Qwen3ForSequenceClassification', 'scores', {**DECODER, **SCORES}),
    'hf-xlm-roberta': ('XLMRoberta', 'XLMRobertaModel', 'first', ROBERTA),
    'hf-xlm-roberta-scores': ('XLMRoberta', 'XLMRobertaForSequenceClassification', 'scores',
                              {**ROBERTA, **SCORES}),
    'modern-bert': ('ModernBert', 'ModernBertModel', 'mean', MODERN),
    'qwen3-embedding': ('Qwen3', 'Qwen3Model', 'last', DECODER),
    'xlm-roberta-scores': ('XLMRoberta', 'XLMRobertaForSequenceClassification', 'scores',
                           {**ROBERTA, **SCORES}),
}
DENSE = {'gemma-embedding': [(48, 32), (20, 48)], 'hf-gemma-embedding': [(48, 32), (20, 48)]}
MODES = {'mean': 'pooling_mode_mean_tokens', 'first': 'pooling_mode_cls_token',
         'last': 'pooling_mode_lasttoken'}


def make_model(name):
    config_class, model_class, _, configuration = MODELS[name]
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, config_class + 'Config')(**{**SIZES, **configuration})
    config._attn_implementation = 'eager'
    model = getattr(transformers, model_class)(config).float().eval()
    with torch.no_grad():
        for own, parameter in model.named_parameters():
            if 'norm' in own.lower() and own.endswith('weight'):
                parameter.uniform_(0.5, 1.5)
            elif own.endswith('bias'):
                parameter.normal_(0, 0.5)
            elif own.endswith(('classifier.weight', 'out_proj.weight', 'score.weight')):
                parameter.normal_(0, 0.5)
            parameter.copy_(parameter.half().float())
    dense = [torch.randn(shape).mul(0.2).half().float() for shape in DENSE.get(name, [])]
    return model, dense


def run(name, model, dense, tokens, types):
    pooling = MODELS[name][2]
    inputs = {'input_ids': torch.tensor([tokens])}
    if getattr(model.config, 'type_vocab_size', 1) > 1:
        inputs['token_type_ids'] = torch.tensor([types])
    with torch.inference_mode():
        output = model(**inputs)
        if pooling == 'scores':
            return output.logits[0]
        if pooling == 'logits':
            return output.logits[0, -1, [YES, NO]]
        rows = output.last_hidden_state[0]
        y = {'mean': rows.mean(0), 'first': rows[0], 'last': rows[-1]}[pooling]
        for weight in dense:
            y = weight @ y
        return y


def save_logit_module(folder):
    os.mkdir(os.path.join(folder, '1_LogitScore'))
    with open(os.path.join(folder, '1_LogitScore', 'config.json'), 'w', encoding='utf-8') as file:
        json.dump({'true_token_id': YES, 'false_token_id': NO}, file)
    with open(os.path.join(folder, 'modules.json'), 'w', encoding='utf-8') as file:
        json.dump([{'idx': 0, 'name': '0', 'path': '', 'type': 'sentence_transformers.base.modules.transformer.Transformer'},
                   {'idx': 1, 'name': '1', 'path': '1_LogitScore',
                    'type': 'sentence_transformers.cross_encoder.modules.logit_score.LogitScore'}], file)
    with open(os.path.join(folder, 'chat_template.jinja'), 'w', encoding='utf-8') as file:
        file.write('{%- for role in ["query", "document"] -%}<{{ role }}>{{ messages | selectattr("role", "eq", role) | '
                   'map(attribute="content") | first }}{% endfor -%}!')


def save_sentence_modules(folder, name, dense):
    """What sentence-transformers saves beside the model itself."""
    if MODELS[name][2] == 'logits':
        save_logit_module(folder)
        return
    modules = [{'idx': 0, 'name': '0', 'path': '', 'type': 'sentence_transformers.models.Transformer'},
               {'idx': 1, 'name': '1', 'path': '1_Pooling', 'type': 'sentence_transformers.models.Pooling'}]
    os.mkdir(os.path.join(folder, '1_Pooling'))
    with open(os.path.join(folder, '1_Pooling', 'config.json'), 'w', encoding='utf-8') as file:
        json.dump({'word_embedding_dimension': 32, **{mode: kind == MODELS[name][2] for kind, mode in MODES.items()}},
                  file)
    for i, weight in enumerate(dense):
        path = f'{i + 2}_Dense'
        modules.append({'idx': i + 2, 'name': str(i + 2), 'path': path,
                        'type': 'sentence_transformers.models.Dense'})
        os.mkdir(os.path.join(folder, path))
        with open(os.path.join(folder, path, 'config.json'), 'w', encoding='utf-8') as file:
            json.dump({'in_features': weight.shape[1], 'out_features': weight.shape[0], 'bias': False,
                       'activation_function': 'torch.nn.modules.linear.Identity'}, file)
        safetensors.torch.save_file({'linear.weight': weight.half()},
                                    os.path.join(folder, path, 'model.safetensors'))
    with open(os.path.join(folder, 'modules.json'), 'w', encoding='utf-8') as file:
        json.dump(modules, file)


def save_prompts(folder):
    with open(os.path.join(folder, 'config_sentence_transformers.json'), 'w', encoding='utf-8') as file:
        json.dump({'prompts': {'query': 'AB', 'document': '', 'default': 'C'}, 'default_prompt_name': 'default'}, file)


def save(folder, name, model, dense):
    # Converters add to norms in the type that they find.
    (model.half() if name.startswith('hf-') else model).save_pretrained(folder)
    converted.save_tokenizer(folder)
    if MODELS[name][2] != 'scores':
        save_sentence_modules(folder, name, dense)
    if name == 'hf-modern-bert':
        save_prompts(folder)


def write_numbers(path, name, model, dense):
    texts = []
    for length in LENGTHS:
        tokens = torch.randint(3, VOCABULARY, (length,)).tolist()
        types = [int(getattr(model.config, 'type_vocab_size', 1) > 1 and i >= (length + 1) // 2) for i in range(length)]
        result = run(name, model, dense, tokens, types)
        texts.append({'tokens': tokens, 'types': types, 'result': [float(f'{v:.7g}') for v in result]})
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'texts': texts}, file, separators=(',', ':'))
        file.write('\n')


def make(output, name):
    model, dense = make_model(name)
    write_numbers(os.path.join(output, name + '.json'), name, model, dense)
    if name.startswith('hf-'):
        os.mkdir(os.path.join(output, name))
        save(os.path.join(output, name), name, model, dense)
        return
    with tempfile.TemporaryDirectory() as folder:
        save(folder, name, model, dense)
        options = {'sentence_transformers_dense_modules': True} if dense else {}
        converted.convert(folder, os.path.join(output, name + '.gguf'), False, **options)


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    for name in sys.argv[3:] or MODELS:
        make(sys.argv[2], name)
    return 0


if __name__ == '__main__':
    sys.exit(main())
