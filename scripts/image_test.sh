#!/usr/bin/env bash
# Build the action's image without a Docker daemon and run it as GitHub's runner does: INPUT_ and GITHUB_ variables, the
# mounted folders, another HOME. Needs root, buildah and debootstrap; the Debian mirror is the one of this machine's apt.
# Prints the image's size and how long a start takes.
#
#   scripts/image_test.sh [BASE]     BASE: an image to build on instead of a small Debian made here
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${RAGGUARD_PARTS_DIR:-$HOME/.cache/ragguard-parts}/image
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
mkdir -p "$cache"

debian_base() {  # a Debian with Python and the certificates, made once
    local rootfs=$cache/rootfs mirror suite container
    if buildah images --quiet localhost/ragguard-base >/dev/null 2>&1; then return; fi
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    rm -rf "$rootfs"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates "$suite" "$rootfs" "$mirror" \
        > "$cache/debootstrap.log"
    rm -rf "$rootfs"/var/cache/apt/archives/*.deb "$rootfs"/var/lib/apt/lists/*
    container=$(buildah from scratch)
    buildah copy --quiet "$container" "$rootfs" / > /dev/null
    buildah commit --quiet --rm "$container" localhost/ragguard-base > /dev/null
    rm -rf "$rootfs"
}

base=${1:-localhost/ragguard-base}
[ "$base" != localhost/ragguard-base ] || debian_base

started=$(date +%s)
# The machine's own certificates and pip settings are lent to the build; nothing of them stays in the image.
lent=()
for path in /etc/ssl/certs /etc/pip.conf /etc/xdg/pip /opt/wheels /opt/pypi /opt/pypi-more; do
    [ ! -e "$path" ] || lent+=(--volume "$path:$path:ro")
done
buildah bud --quiet --network host --pull-never "${lent[@]}" --build-arg "BASE=$base" --tag localhost/ragguard-action . \
    > "$cache/build.log" 2>&1 || { tail -n 40 "$cache/build.log" >&2; exit 1; }
echo "built in $(($(date +%s) - started)) s"

container=$(buildah from --pull-never localhost/ragguard-action)
work=$(mktemp -d "${TMPDIR:-/tmp}/ragguard-image.XXXXXX")
trap 'buildah rm "$container" > /dev/null; rm -rf "$work"' EXIT
root=$(buildah mount "$container")
printf 'size: %s MB, of which %s MB are the base\n' \
    "$(du -sxm --apparent-size "$root" | cut -f1)" "$(($(du -sxm --apparent-size "$root" | cut -f1) - $(du -sxm --apparent-size "$root/opt/ragguard" | cut -f1)))"
du -xm --max-depth=1 "$root"/opt/ragguard/lib/python3*/site-packages | sort -rn | sed -n '2,9p' | sed "s|$root/opt/ragguard/lib/python3[^/]*/site-packages/|  |"
for tool in gcc cc g++ make; do
    ! chroot "$root" sh -c "command -v $tool" > /dev/null || { echo "the image holds $tool" >&2; exit 1; }
done
[ -z "$(find "$root/root/.cache" "$root/var/cache/apt/archives" -name '*.whl' -o -name '*.deb' 2>/dev/null)" ] || { echo "the image holds a cache" >&2; exit 1; }
buildah inspect --type image localhost/ragguard-action | python3 -c '
import json, sys
config = json.load(sys.stdin)["OCIv1"]["config"]
assert config["Entrypoint"] == ["/opt/ragguard/bin/ragguard"], config
assert not config.get("User") and config.get("WorkingDir", "/") in ("", "/"), config
assert "PYTHONUTF8=1" in config["Env"], config
assert config["Labels"]["org.opencontainers.image.title"] == "ragguard", config
'

mkdir -p "$work"/{workspace,home,workflow,file_commands,runner_temp}
cp examples/quickstart/*.jsonl examples/quickstart/ragguard.yaml "$work/workspace"
printf '%s' '{"ref": "refs/heads/main", "repository": {"full_name": "acme/tutor", "default_branch": "main"}}' > "$work/workflow/event.json"
chown -R 1001:1001 "$work/workspace"

step() {  # step ANSWERS RUN_ID: one step of a workflow, as the runner starts it; prints its exit code
    local code=0
    : > "$work/file_commands/output"; : > "$work/file_commands/summary"
    buildah run --user 0 --workingdir /github/workspace \
        --volume "$work/workspace:/github/workspace" --volume "$work/home:/github/home" \
        --volume "$work/workflow:/github/workflow" --volume "$work/file_commands:/github/file_commands" \
        --volume "$work/runner_temp:/github/runner_temp" \
        --env HOME=/github/home --env CI=true --env GITHUB_ACTIONS=true --env GITHUB_EVENT_NAME=push \
        --env GITHUB_EVENT_PATH=/github/workflow/event.json --env GITHUB_WORKSPACE=/github/workspace \
        --env GITHUB_OUTPUT=/github/file_commands/output --env GITHUB_STEP_SUMMARY=/github/file_commands/summary \
        --env GITHUB_REPOSITORY=acme/tutor --env GITHUB_REF=refs/heads/main --env GITHUB_RUN_ID="$2" \
        --env GITHUB_RUN_ATTEMPT=1 --env GITHUB_JOB=gate --env GITHUB_ACTION=__run --env GITHUB_SERVER_URL=https://github.com \
        --env "INPUT_ANSWERS=$1" --env INPUT_FORMAT=json+markdown+html --env "INPUT_POLICY-SOURCE=base" \
        "$container" -- /opt/ragguard/bin/ragguard action > "$work/log" 2>&1 || code=$?
    echo "$code"
}

expect() {  # expect NAME WANTED GOT
    [ "$2" = "$3" ] || { cat "$work/log" >&2; echo "$1: expected $2, got $3" >&2; exit 1; }
    echo "$1: $3"
}

output() { grep -A1 "^$1<<" "$work/file_commands/output" | tail -n 1; }

begin=$(date +%s%N)
buildah run "$container" -- /opt/ragguard/bin/ragguard --version > /dev/null
echo "start (ragguard --version): $((($(date +%s%N) - begin) / 1000000)) ms, the builder's own start included"
begin=$(date +%s%N)
buildah run "$container" -- /opt/ragguard/bin/python -c pass
echo "start (python alone): $((($(date +%s%N) - begin) / 1000000)) ms"
begin=$(date +%s%N)
expect "good answers, exit code" 0 "$(step answers-good.jsonl 1)"
echo "a whole run of 54 samples, offline: $((($(date +%s%N) - begin) / 1000000)) ms"
expect "good answers, outcome" warned "$(output outcome)"
expect "invented facts, exit code" 1 "$(step answers-hallucinated.jsonl 2)"
expect "invented facts, outcome" failed "$(output outcome)"
expect "report" .ragguard/out/report.html "$(output report-html)"
[ -s "$work/workspace/.ragguard/out/report.html" ] && [ -s "$work/file_commands/summary" ]
expect "owner of what was written" 1001 "$(stat -c %u "$work/workspace/.ragguard/out/report.html")"
expect "left in HOME" "" "$(ls -A "$work/home")"
expect "no such input, exit code" 2 "$(buildah run --env 'INPUT_DATSET=x' "$container" -- /opt/ragguard/bin/ragguard action > "$work/log" 2>&1; echo $?)"
echo "image test: passed"
