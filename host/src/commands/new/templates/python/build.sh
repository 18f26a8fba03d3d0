#!/bin/sh
# Builds {{component}}. The compiler is installed into .venv when it is first needed; ENVIRONMENT names
# another virtual environment that has it.
set -eu
cd "$(dirname "$0")"
environment=${ENVIRONMENT:-.venv}
if [ ! -e "$environment/bin/componentize-py" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --require-hashes --only-binary=:all: --requirement requirements.txt
fi
# It looks for packages in the environment that is active.
VIRTUAL_ENV=$environment exec "$environment/bin/python" "$environment/bin/componentize-py" --quiet \
    --wit-path=wit --world=tool componentize --python-path=. --output={{component}} tools
