#!/bin/sh
# Runs the good answers as the baseline, then two worse versions of the same app, and shows that the gate catches them.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ragguard-demo.XXXXXX")
cp "$here"/*.jsonl "$here"/ragguard.yaml "$work"/
cd "$work"

expect() {  # expect CODE NAME: the exit code that the gate must give
    wanted=$1; name=$2; shift 2
    printf '\n== %s\n\n' "$name"
    code=0
    "$@" || code=$?
    printf '\nexit code %s\n' "$code"
    if [ "$code" -ne "$wanted" ]; then
        echo "the demo expected exit code $wanted: something is wrong with this installation" >&2
        exit 1
    fi
}

expect 0 "1. The RAG app as it is on main: its run becomes the baseline" \
    ragguard run --answers answers-good.jsonl --output out/good
expect 1 "2. A pull request whose new prompt makes the app invent facts" \
    ragguard run --answers answers-hallucinated.jsonl --output out/hallucinated
expect 1 "3. A pull request with a worse retriever" \
    ragguard run --answers answers-worse-retriever.jsonl --output out/worse-retriever

printf '\nThe reports lie in %s/out; read out/hallucinated/report.md first.\n' "$work"
