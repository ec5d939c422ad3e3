#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tiny_model.py - a language model with random weights for llama.cpp (needs python3-gguf)

    tiny_model.py FILE [f32|f16|q8_0]

An architecture that llama.cpp knows, as small as its kernels allow: a layer of 64 with one head. Its words are the
256 bytes. Weights come from a fixed seed, so every FILE of a type is the same, and what the model answers means nothing.
"""
import sys

import gguf
import numpy

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT, SEED = 1, 64, 1, 128, 128, 20261127
SPECIAL = ("<unk>", "<s>", "</s>")


def vocabulary(writer):
    """A byte is a word; a sentence piece model needs no more."""
    words = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list([word.encode() for word in words])
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    return len(words)


def main(path, kind):
    random = numpy.random.default_rng(SEED)
    writer = gguf.GGUFWriter(path, "llama")
    words = vocabulary(writer)
    writer.add_name("tiny, random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(words)

    def matrix(name, rows, columns):
        values = random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(numpy.sqrt(columns) / 2)
        if kind == "q8_0":
            values = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, values, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, values.astype(numpy.float16 if kind == "f16" else numpy.float32))

    def ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", words, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        for part in ("q", "k", "v", "output"):
            matrix(f"{block}.attn_{part}.weight", WIDTH, WIDTH)
        ones(f"{block}.ffn_norm.weight")
        matrix(f"{block}.ffn_gate.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_up.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, HIDDEN)
    ones("output_norm.weight")
    matrix("output.weight", words, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "f32")
