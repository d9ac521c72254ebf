#!/usr/bin/env bash
# Pin every dependency, direct and indirect, into requirements/*.txt: one resolution for Python 3.11 to 3.13 and all
# platforms, of which each file holds the part that one command needs. Run by `make lock`; needs `uv` on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

pin() { # pin OUT [--extra NAME]... [--constraint FILE]
  local out=$1
  shift
  uv pip compile pyproject.toml requirements/build.in "$@" --output-file "$out" --upgrade --quiet \
    --universal --python-version 3.11 --fork-strategy fewest --no-emit-index-url --custom-compile-command "make lock"
}

all=$(mktemp)
trap 'rm -f "$all"' EXIT
pin "$all" --extra test --extra docs --extra bench
pin requirements/run.txt --constraint "$all" --no-annotate
pin requirements/test.txt --constraint "$all" --no-annotate --extra test
pin requirements/docs.txt --constraint "$all" --no-annotate --extra docs
pin requirements/bench.txt --constraint "$all" --no-annotate --extra bench
