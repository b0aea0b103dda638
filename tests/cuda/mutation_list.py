"""Faults that somebody could make in a kernel, each of which a test has to notice."""

from typing import NamedTuple


class Mutation(NamedTuple):
    name: str
    file: str  # below engine/cuda/kernels/
    old: str  # stands there once
    new: str
    test: str  # tests/cuda/TEST_test.cpp
    filter: str  # of that test: at least one of these fails
    says: str = ""  # in what the test prints, where the simulation is to name the fault


WAIT_AND_MEET = """    gpu::copy_async_wait<1>();
    gpu::sync_block();
"""
MEET_AFTER = """    attend_stage(softmax, stages[now], from, part);
    gpu::sync_block();
"""

RACE = "race in shared memory"

WARPS = "  const int32_t warp_count = static_cast<int32_t>(gpu::block_size().x) / gpu::kWarpSize;\n"
SUM_AFTER = WARPS + "  return sum_of_lanes("
LARGEST_AFTER = WARPS + "  return largest_of_lanes("

MUTATIONS = [
    # ---- Attention
    Mutation("page-index-off-by-one", "attention_batch.cuh", "block_ids[page])", "block_ids[page > 0 ? page - 1 : 0])",
             "prefill_attention", "PrefillAttention.ReadsBlocksOfAnySizeAndSkipsEmptyRows"),
    Mutation("window-a-key-too-wide", "attention_batch.cuh", "end > window ? end - window : 0", "end > window ? position - window : 0",
             "decode_attention", "DecodeAttention.LooksNoFurtherBackThanItsWindow"),
    Mutation("decode-missing-wait", "decode_attention.cuh", WAIT_AND_MEET, "    gpu::sync_block();\n",
             "decode_attention", "DecodeAttention.MatchesReferenceForEveryGroup"),
    Mutation("decode-missing-barrier-after-copies", "decode_attention.cuh", WAIT_AND_MEET, "    gpu::copy_async_wait<1>();\n",
             "decode_attention", "DecodeAttention.MatchesReferenceForEveryGroup", RACE),
    Mutation("decode-missing-barrier-before-next-copies", "decode_attention.cuh", MEET_AFTER, MEET_AFTER.splitlines(True)[0],
             "decode_attention", "DecodeAttention.*", RACE),
    Mutation("decode-missing-barrier-before-next-token", "decode_attention.cuh", "  gpu::sync_block();  // the next token's copies\n", "",
             "decode_attention", "DecodeAttention.*", RACE),
    Mutation("decode-reads-beyond-its-part", "decode_attention.cuh", "const bool is_seen = part.has(from + key);",
             "const bool is_seen = from + key <= part.end;", "decode_attention", "DecodeAttention.MatchesReferenceForEveryGroup"),
    Mutation("decode-forgets-earlier-keys", "decode_attention.cuh", "mass[h] = gpu::fma(mass[h], kept, weight);", "mass[h] += weight;",
             "decode_attention", "DecodeAttention.MatchesReferenceForEveryGroup"),
    Mutation("merge-leaves-a-part-out", "decode_partials.cuh", "for (int32_t p = 0; p < parts; ++p) {\n      const float* part",
             "for (int32_t p = 1; p < parts; ++p) {\n      const float* part", "decode_attention",
             "DecodeAttention.MatchesReferenceForEveryGroup"),
    Mutation("parts-depend-on-the-grid", "decode_attention.cuh", "target.parts = split_count(seen, arguments.limits);",
             "target.parts = static_cast<int32_t>(gpu::grid_size().x);", "decode_attention", "DecodeAttention.GivesATokenTheSameInEveryGrid"),
    Mutation("mma-group-wrong-row", "decode_attention_mma.cuh", "const int32_t row = gpu::lane() / 4 + 8 * r;",
             "const int32_t row = gpu::lane() / 4 + 4 * r;", "decode_attention", "DecodeAttention.MatchesReferenceByMatrixProducts"),
    Mutation("mma-missing-wait", "decode_attention_mma.cuh", WAIT_AND_MEET, "    gpu::sync_block();\n",
             "decode_attention", "DecodeAttention.MatchesReferenceByMatrixProducts"),
    Mutation("mma-missing-barrier-after-copies", "decode_attention_mma.cuh", WAIT_AND_MEET, "    gpu::copy_async_wait<1>();\n",
             "decode_attention", "DecodeAttention.MatchesReferenceByMatrixProducts", RACE),
    Mutation("mma-missing-barrier-before-next-token", "decode_attention_mma.cuh", "    gpu::sync_block();  // the next token's copies\n", "",
             "decode_attention", "DecodeAttention.*", RACE),
    Mutation("fragment-wrong-row", "attention_tile.cuh", "&queries[lane % 16].element", "&queries[lane % 8].element",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize"),
    Mutation("fragment-wrong-columns", "attention_tile.cuh", "element[dim + lane / 8 % 2 * 8]", "element[dim + lane / 16 * 8]",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize"),
    Mutation("fragment-not-transposed", "attention_tile.cuh", "gpu::load_matrices_transposed(b, ", "gpu::load_matrices(b, ",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize"),
    Mutation("mask-of-the-other-row", "attention_tile.cuh", "!rows[c / 2].has(key)", "!rows[c % 2].has(key)",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize"),
    Mutation("prefill-missing-wait", "prefill_attention.cuh", WAIT_AND_MEET, "    gpu::sync_block();\n",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize"),
    Mutation("prefill-missing-barrier", "prefill_attention.cuh", WAIT_AND_MEET, "    gpu::copy_async_wait<1>();\n",
             "prefill_attention", "PrefillAttention.MatchesReferenceForEveryHeadSize", RACE),
    Mutation("prefill-tiles-begin-anywhere", "prefill_attention.cuh", "int32_t from = seen.begin / kKeys * kKeys;",
             "int32_t from = seen.begin;", "prefill_attention", "PrefillAttention.GivesATokenTheSameInEveryChunk"),
    Mutation("prefill-writes-padding-rows", "prefill_attention.cuh", "if (row >= tile.count) continue;", "if (row > tile.count) continue;",
             "prefill_attention", "PrefillAttention.*"),
    Mutation("keys-with-the-scales-of-values", "decode_attention.cuh", "score *= scales.key;", "score *= scales.value;",
             "decode_attention", "DecodeAttention.ReadsEveryKindOfCache"),
    Mutation("values-with-the-keys-scales", "attention_tile.cuh", "? scales.key : scales.value;", "? scales.key : scales.key;",
             "prefill_attention", "PrefillAttention.ConvertsEveryKindOfCache"),
    # ---- Rotary embedding and the cache
    Mutation("rope-turns-backwards", "rope_cache.cuh", "gpu::fma(x, cosine, -(y * sine))", "gpu::fma(x, cosine, y * sine)",
             "rope_cache", "RopeCacheKernel.TurnsHeadsOfAnySize"),
    Mutation("rope-pairs-of-the-whole-head", "rope_cache.cuh", "pair + which * turned_pairs", "pair + which * pairs",
             "rope_cache", "RopeCacheKernel.TurnsLeadingElementsAlone"),
    Mutation("slot-in-the-wrong-block", "rope_cache.cuh", "int64_t{slot / args.block_size}", "int64_t{(slot + 1) / args.block_size}",
             "rope_cache", "RopeCacheKernel.CachesInEveryTypeAndBlockSize"),
    Mutation("caches-what-has-no-slot", "rope_cache.cuh", "if (slot < 0) return;", "if (slot < -1) return;",
             "rope_cache", "RopeCacheKernel.CachesInEveryTypeAndBlockSize"),
    Mutation("scaled-the-wrong-way", "rope_cache.cuh", "held.scale(1.0F / scale);", "held.scale(scale);",
             "fp8_cache", "Fp8Cache.KeepsHeadsOfEveryMagnitudeToASixteenth"),
    # ---- Experts
    Mutation("expert-taken-twice", "route_tokens.cuh", "held[i] = held[i] == best ? 0 : held[i];", "held[i] = held[i] > best ? 0 : held[i];",
             "route_tokens", "RouteTokensKernel.TakesTheHighestScoresAndWeighsThemBySoftmax"),
    Mutation("equal-scores-take-the-last-expert", "route_tokens.cuh", "likelihood_of(key_of(scores[expert]), expert) : 0;",
             "likelihood_of(key_of(scores[expert]), -expert) : 0;", "route_tokens", "RouteTokensKernel.TakesTheFirstOfEqualScores"),
    Mutation("shares-of-the-other-experts", "route_tokens.cuh", "if (!args.sums_to_one) mass", "if (args.sums_to_one) mass",
             "route_tokens", "RouteTokensKernel.TakesTheHighestScoresAndWeighsThemBySoftmax"),
    Mutation("first-slot-is-nobodys", "route_tokens.cuh", "args.slots[token] < 0", "args.slots[token] <= 0",
             "route_tokens", "RouteTokensKernel.LetsTokensOfNobodyTakeWhatTheFirstDoes"),
    Mutation("rows-of-lanes-alike-in-one-place", "group_by_expert.cuh", "gpu::count_bits(alike & lanes_before)", "gpu::count_bits(alike & 1U)",
             "group_by_expert", "GroupByExpertKernel.SortsChoicesByExpertAndCutsTiles"),
    Mutation("next-row-moved-before-all-have-read-it", "group_by_expert.cuh", "    gpu::sync_warp();\n    if (exists && rank == 0)", "    if (exists && rank == 0)",
             "group_by_expert", "GroupByExpertKernel.SortsChoicesByExpertAndCutsTiles"),
    Mutation("places-before-experts-have-rows", "group_by_expert.cuh", "  clear_surplus_tiles(args, shared);\n  gpu::sync_block();\n",
             "  clear_surplus_tiles(args, shared);\n", "group_by_expert", "GroupByExpertKernel.SortsChoicesByExpertAndCutsTiles"),
    Mutation("surplus-tiles-left-as-they-were", "group_by_expert.cuh", "args.tiles[at] = {};", "args.tiles[at].expert = 0;",
             "group_by_expert", "GroupByExpertKernel.TakesAllTokensToOneExpertAndNoneToOthers"),
    Mutation("up-gated-by-its-neighbour", "grouped_product.cuh", "kIsGated ? row / 8 % 2 : 0", "kIsGated ? 1 - row / 8 % 2 : 0",
             "grouped_product", "GroupedProductKernel.GatesWhatItGathers"),
    Mutation("grouped-rows-not-gathered", "grouped_product.cuh", "args.tokens_of == nullptr ? at : args.tokens_of[at]", "args.tokens_of == nullptr ? at : at / 2",
             "grouped_product", "GroupedProductKernel.GatesWhatItGathers"),
    Mutation("grouped-missing-wait", "grouped_product.cuh", "      gpu::copy_async_wait<kProductStages - 2>();\n", "",
             "grouped_product", "GroupedProductKernel.MultipliesEachRowByItsExpertsMatrix"),
    Mutation("grouped-missing-barrier", "grouped_product.cuh", "      gpu::copy_async_wait<kProductStages - 2>();\n      gpu::sync_block();\n",
             "      gpu::copy_async_wait<kProductStages - 2>();\n", "grouped_product", "GroupedProductKernel.MultipliesEachRowByItsExpertsMatrix"),
    Mutation("grouped-stage-filled-while-it-is-read", "grouped_product.cuh", "const int32_t before = now == 0 ? kProductStages - 1 : now - 1;",
             "const int32_t before = now;", "grouped_product", "GroupedProductKernel.MultipliesEachRowByItsExpertsMatrix"),
    Mutation("grouped-fragment-wrong-columns", "grouped_product.cuh", "element[inner + lane / 8 % 2 * 8]", "element[inner + lane / 16 * 8]",
             "grouped_product", "GroupedProductKernel.MultipliesEachRowByItsExpertsMatrix"),
    Mutation("grouped-writes-padding-rows", "grouped_product.cuh", "if (row >= tile.count || output >= args.outputs) return;\n    args.out",
             "if (row > tile.count || output >= args.outputs) return;\n    args.out", "grouped_product", "GroupedProductKernel.*"),
    Mutation("rows-of-other-tokens-experts", "add_experts.cuh", "int64_t{args.rows_of[choice]}", "choice",
             "add_experts", "AddExpertsKernel.AddsWhatATokensExpertsGaveTimesTheirWeights"),
    # ---- Norms
    Mutation("norm-missing-barrier", "sums.cuh", "warps.of[gpu::warp()] = of_warp;\n  gpu::sync_block();\n" + SUM_AFTER,
             "warps.of[gpu::warp()] = of_warp;\n" + SUM_AFTER, "rms_norm", "RmsNormKernel.NormalizesRowsOfAnyWidth", RACE),
    Mutation("norm-sums-in-one-place", "rms_norm.cuh", "sums.residual);", "sums.added);",
             "rms_norm", "AddRmsNormKernel.NormalizesWhatItAddsBefore"),
    Mutation("norm-without-epsilon", "rms_norm.cuh", "gpu::rsqrt(mean + norm.epsilon)", "gpu::rsqrt(mean)",
             "rms_norm", "RmsNormKernel.NormalizesRowsOfAnyWidth"),
    Mutation("stores-whole-groups", "group.cuh", "    if (i < left) to[i]", "    to[i]", "rms_norm",
             "RmsNormKernel.NormalizesRowsOfAnyWidth"),
    # ---- Products of few rows, and stored blocks
    Mutation("gemv-adds-without-beta", "gemv.cuh", "gpu::fma(args.beta, added, sum)", "added + sum",
             "gemv", "GemvKernel.MultipliesBf16WeightsOfAnySize"),
    Mutation("gemv-repeats-the-first-weights", "gemv.cuh", "weights = next;", "(void)next;",
             "gemv", "GemvKernel.MultipliesBf16WeightsOfAnySize"),
    Mutation("gemv-writes-rows-there-arent", "gemv.cuh", "gpu::lane() != 0 || m >= args.rows ||", "gpu::lane() != 0 ||",
             "gemv", "GemvKernel.MultipliesBf16WeightsOfAnySize"),
    Mutation("nibbles-of-the-other-half", "eight_quants.cuh", "4, first / 16 * 4)", "4, 4 - first / 16 * 4)",
             "dequantize", "DequantizeKernel.*"),
    Mutation("scales-of-the-wrong-group", "eight_quants.cuh", "if (group >= 4) {", "if (group > 4) {", "dequantize", "DequantizeKernel.*"),
    Mutation("dequantize-a-block-too-many", "dequantize.cuh", "at >= args.block_count", "at > args.block_count",
             "dequantize", "DequantizeKernel.*"),
    # ---- Rows as fp8
    Mutation("largest-missing-barrier", "sums.cuh", "warps.of[gpu::warp()] = of_warp;\n  gpu::sync_block();\n" + LARGEST_AFTER,
             "warps.of[gpu::warp()] = of_warp;\n" + LARGEST_AFTER, "quantize_rows", "*", RACE),
    Mutation("largest-of-positive-numbers", "quantize_rows.cuh", "value < 0 ? -value : value;", "value;", "quantize_rows", "*"),
    # ---- Element by element
    Mutation("embed-without-scale", "embed.cuh", "for (float& value : values) value *= args.scale;", "",
             "embed", "EmbedKernel.*"),
    Mutation("gate-and-up-exchanged", "gate.cuh", "activate<kActivation>(gate[i]) * up[i]", "activate<kActivation>(up[i]) * gate[i]",
             "gate", "GateKernel.*"),
    # ---- Sampling
    Mutation("top-k-keeps-one-more", "mass_search.cuh", "if (rank >= kept) candidates", "if (rank > kept) candidates",
             "sampling_sets", "SamplingKernels.DrawWhereTheRandomNumberFalls"),
    Mutation("ranks-count-the-own-warp", "sampling_block.cuh", "rank += i < gpu::warp() ?", "rank += i <= gpu::warp() ?",
             "sampling_sets", "SamplingKernels.*"),
    Mutation("sampling-missing-barrier", "sampling_block.cuh", "memory.warp_counts[gpu::warp()] = found;\n  gpu::sync_block();\n",
             "memory.warp_counts[gpu::warp()] = found;\n", "sampling_sets", "SamplingKernels.DrawWhereTheRandomNumberFalls", RACE),
    Mutation("penalties-undone-in-any-order", "penalties.cuh", "  gpu::sync_block();  // a token may be in both: history came first and goes last\n",
             "", "sampling_agreement", "SamplingKernels.Agree*"),
    Mutation("temperature-of-another-row", "draw_tokens.cuh", "rows.inverse_temperature[row]", "rows.inverse_temperature[0]",
             "sampling_sets", "SamplingKernels.DrawWhereTheRandomNumberFalls"),
    Mutation("candidates-in-one-room", "logit_candidates.cuh", "static_cast<int64_t>(gpu::block_index().x) * vocab_size", "int64_t{0} * vocab_size",
             "sampling_sets", "SamplingKernels.KeepCandidatesInTheBlocksOwnRoom"),
]

# What a run without names puts to the test: each kind of fault once, in few files, as compiling is what takes the time.
QUICK = [
    "page-index-off-by-one", "fragment-wrong-row", "mask-of-the-other-row", "prefill-missing-wait", "prefill-missing-barrier",
    "rope-turns-backwards", "slot-in-the-wrong-block", "norm-missing-barrier", "norm-sums-in-one-place", "stores-whole-groups",
    "scales-of-the-wrong-group", "top-k-keeps-one-more", "equal-scores-take-the-last-expert",
]
