#!/usr/bin/env python3
"""Writes tests/data/tokenizer/huggingface.json: small tokenizer.json documents of many kinds, with random texts and what
Hugging Face's tokenizers make of them. Needs that package (tokenizers==0.23.3), which no test does.

usage: scripts/expect_tokenizers.py [--seed N] [--texts N] [--out FILE]
Another seed gives other texts, to look further for differences; SLUICE_TOKENIZER_CASES=FILE lets the test read them.
"""
import argparse
import json
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = Path(__file__).parent.parent / "tests/data/tokenizer/huggingface.json"
MARK = "▁"
CORPUS = ["the cat sat on the mat and the hat", "def f(x):\n    return x + 1", "I'll pay 12345 in 2024, don't you?",
          "été naïve café", "日本語 中文字 한국어", "HelloWorld FooBar helloWorld", "  spaces   here    and there",
          "привет мир в городе", "...!!! -> != ==", "the the the cat cat", "new\n\nlines\r\n\r\n here\t\ttabs"]
PARTS = ["the", " the", "cat", "The", "I'll", "DON'T", " ", "  ", "   ", "\n", "\r\n", "\t", "12345", "7", "1,000.5",
         "٣٤٥", "½", "²", ".", "...", "->", "!=", "_", "foo_bar", "HelloWorld", "é", "e\u0301", "가", "\u1100\u1161",
         "ﬁ", "Å", "İ", "Σ", "ς", "ß", "ǅ", "日本", "中文字", "привет", " в ", "👍🏽", "\u200d", "\ufeff", "\u00a0",
         "\u3000", "\u2028", MARK, MARK + "the", "<s>", "</s>", "<tool>", "<TOOL>", " <tool> ", "tool", "x<left>",
         "  <left>", "<right>  ", "word", "words", " word ", "(x)", "{\"a\": 1}", "\x00", "\x1c", "a", "Z", "$", "+"]

GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
LLAMA3 = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
          "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
GPT4O = ("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll"
         "|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve"
         "|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"


def byte_level(pre_tokenizer, normalizer=None, **options):
    """A tokenizer of spelled bytes, trained on the corpus."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, pre_tokenizers.ByteLevel.alphabet())
    return tokenizer


def train(tokenizer, alphabet, extra=()):
    trainer = trainers.BpeTrainer(vocab_size=len(alphabet) + len(extra) + 60, initial_alphabet=alphabet,
                                  special_tokens=list(extra), show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 3, trainer)


def characters(pre_tokenizer, normalizer=None, byte_fallback=True, fuse_unk=True, decoder=None, **options):
    """A tokenizer of characters, as SentencePiece's become: bytes or an unknown token for the rest."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=fuse_unk, **options))
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoder or decoders.Sequence(
        [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    names = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    train(tokenizer, [MARK], ["<unk>"] + names)
    document = json.loads(tokenizer.to_str())
    # The trainer makes byte tokens special, which no published file does, and learns characters that are to be missing.
    document["added_tokens"] = [t for t in document["added_tokens"] if t["content"] not in names]
    return Tokenizer.from_str(json.dumps(document))


def split(pattern, behavior, invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def spelled(*stages, use_regex=False, add_prefix_space=False):
    return pre_tokenizers.Sequence(
        [*stages, pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)])


def kinds():
    """Names and tokenizers."""
    yield "gpt2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "gpt2 with a blank before", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    yield "llama3", byte_level(spelled(split(Regex(LLAMA3), "isolated")), ignore_merges=True)
    yield "qwen2", byte_level(spelled(split(Regex(LLAMA3), "isolated")), normalizers.NFC())
    yield "gpt-4o", byte_level(spelled(split(Regex(GPT4O), "isolated")))
    yield "bloom", byte_level(spelled(split(Regex(BLOOM), "isolated")))
    yield "starcoder", byte_level(spelled(pre_tokenizers.Digits(individual_digits=True), use_regex=True))
    yield "falcon", byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False), split(Regex("[0-9][0-9][0-9]"), "isolated")]))
    yield "deepseek", byte_level(spelled(
        split(Regex("[\\r\\n]"), "isolated"), split(Regex("\\s?\\p{L}+"), "isolated"),
        split(Regex("\\s?\\p{P}+"), "isolated"), split(Regex("\\s+$"), "isolated"),
        split(Regex("[一-龥ࠀ-一가-퟿]+"), "isolated"), pre_tokenizers.Digits(individual_digits=True)))
    yield "words of Ruby's classes", byte_level(spelled(split(Regex("\\w+\\b|\\h|[^\\w\\s]"), "isolated")))
    yield "empty matches", byte_level(spelled(split(Regex("(?=[A-Z])|(?<=\\d)"), "isolated")))
    yield "lines", byte_level(spelled(split(Regex("^ +| +$|."), "isolated")))
    for behavior in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        for invert in [False, True]:
            name = f"split {behavior}{' inverted' if invert else ''}"
            yield name, byte_level(spelled(split(Regex("[aeiou ]"), behavior, invert)))
        yield f"punctuation {behavior}", byte_level(spelled(pre_tokenizers.Punctuation(behavior)))
    yield "string split", byte_level(spelled(split("the", "merged_with_next")))
    yield "whitespace", byte_level(spelled(pre_tokenizers.Whitespace()))
    yield "whitespace split", byte_level(spelled(pre_tokenizers.WhitespaceSplit()))
    yield "spelled by the normalizer", byte_level(split(Regex("Ġ?[a-z]+"), "isolated"), normalizers.ByteLevel())
    for scheme in ["always", "first", "never"]:
        for splits in [True, False]:
            yield f"metaspace {scheme}{' split' if splits else ''}", characters(
                pre_tokenizers.Metaspace(MARK, scheme, splits), decoder=None if splits else decoders.Sequence(
                    [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]))
    yield "llama2", characters(None, normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]))
    yield "gemma", characters(split(" ", "merged_with_previous"), normalizers.Replace(" ", MARK),
                              decoder=decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(),
                                                         decoders.Fuse()]))
    yield "unknown", characters(pre_tokenizers.Metaspace(), byte_fallback=False, fuse_unk=False)
    yield "unknown fused", characters(pre_tokenizers.Metaspace(), byte_fallback=False, fuse_unk=True)
    yield "nfd", byte_level(spelled(split(Regex(LLAMA3), "isolated")), normalizers.NFD())
    yield "nfkc lower", byte_level(spelled(use_regex=True), normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(True, False)]))
    yield "nfkd strip", byte_level(spelled(use_regex=True), normalizers.Sequence(
        [normalizers.NFKD(), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]))


def add_tokens(tokenizer, rng):
    """Some of the tokens that texts name, with flags as they come."""
    flag = lambda: rng.random() < 0.3
    tokenizer.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("</s>", normalized=False)])
    if rng.random() < 0.2:
        # Not beside tokens that take blanks to their right: tokenizers then read those blanks twice.
        tokenizer.add_tokens([AddedToken("  ", normalized=False), AddedToken("<tool>", normalized=True)])
    else:
        tokenizer.add_tokens([
            AddedToken("<tool>", normalized=flag(), lstrip=flag(), rstrip=flag()),
            AddedToken("<left>", normalized=False, lstrip=True),
            AddedToken("<right>", normalized=False, rstrip=True),
            AddedToken("word", normalized=False, single_word=True),
        ][: rng.randrange(5)])
    if rng.random() < 0.7:
        id_of = tokenizer.token_to_id
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>" if flag() else "<s> $A", special_tokens=[("<s>", id_of("<s>")), ("</s>", id_of("</s>"))])


def cases_of(tokenizer, rng, count):
    texts = ["", " ", "a", " a", "the cat", "<s>the", " <s> the"]
    while len(texts) < count:
        texts.append("".join(rng.choice(PARTS) for _ in range(rng.randrange(1, 9))))
    cases = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        cases.append({"text": text, "ids": ids, "all": tokenizer.encode(text).ids,
                      "decoded": tokenizer.decode(ids, skip_special_tokens=False)})
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    entries = []
    for name, tokenizer in kinds():
        rng = random.Random(f"{options.seed} {name}")
        add_tokens(tokenizer, rng)
        entries.append({"name": name, "tokenizer": json.loads(tokenizer.to_str()),
                        "cases": cases_of(tokenizer, rng, options.texts)})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
    options.out.write_text("[\n" + lines + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
