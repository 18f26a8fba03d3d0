#!/bin/sh
# Builds {{component}}. The compiler, zig's Clang, is installed into .venv when it is first needed;
# ENVIRONMENT names another virtual environment that has it.
set -eu
cd "$(dirname "$0")"
environment=${ENVIRONMENT:-.venv}
if [ ! -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --require-hashes --only-binary=:all: --requirement requirements.txt
fi
module=$(mktemp)
trap 'rm -f "$module"' EXIT
"$environment/bin/python" -m ziglang cc --target=wasm32-wasi -mexec-model=reactor -std=gnu17 \
    -Wall -Wextra -Os -s -Icofferdam -o "$module" \
    tools.c cofferdam/*.c cofferdam/gen/tool.c cofferdam/gen/tool_component_type.o
"${COFFERDAM:-cofferdam}" component "$module" {{component}}
