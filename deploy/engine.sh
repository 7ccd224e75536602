#!/usr/bin/env bash
# Prepare a Docker Engine of the test's own where none answers: Debian, as root, no image registry needed.
#
#   eval "$(deploy/engine.sh up)"    installs Debian's packages if missing, starts dockerd, prints
#                                    `export DOCKER_HOST=… BASE_IMAGE=…` for the caller (progress goes to stderr)
#   deploy/engine.sh down            stops that dockerd, by the process id in its own file only
#
# VEREDICTO_ENGINE_DIR (default /var/tmp/veredicto-engine) holds the engine's data, its socket and base.tar, the
# cached base image made by debootstrap; delete the folder to start over.
set -euo pipefail

DIR=${VEREDICTO_ENGINE_DIR:-/var/tmp/veredicto-engine}
SOCKET=unix://$DIR/docker.sock
IMAGE=local/python:3.11-slim
PACKAGES=(docker.io docker-compose debootstrap iptables)

say() { echo "engine: $*" >&2; }

need_debian_root() {
    [ "$(id -u)" = 0 ] || { say "no Docker Engine answers, and preparing one needs root"; exit 1; }
    command -v apt-get >/dev/null || { say "no Docker Engine answers, and only Debian can be prepared"; exit 1; }
}

install_packages() {
    command -v dockerd >/dev/null && command -v docker-compose >/dev/null && command -v debootstrap >/dev/null \
        && command -v iptables >/dev/null && return
    say "installing ${PACKAGES[*]}"
    apt-get update -q >&2
    # Without a policy the packages would start the machine's own engine; the test wants only its own.
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y --no-install-recommends "${PACKAGES[@]}" >&2
}

start_engine() {
    docker -H "$SOCKET" info >/dev/null 2>&1 && return
    say "starting dockerd under $DIR"
    mkdir -p "$DIR"
    rm -f "$DIR/pid"
    nohup dockerd --data-root "$DIR/data" --exec-root "$DIR/exec" -H "$SOCKET" --pidfile "$DIR/pid" \
        --storage-driver overlay2 >"$DIR/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 60); do
        docker -H "$SOCKET" info >/dev/null 2>&1 && return
        sleep 1
    done
    say "dockerd did not answer within 60 s; its last lines:"
    tail -n 20 "$DIR/dockerd.log" >&2
    exit 1
}

mirror() { # the first URI of the machine's own apt sources, in either of their two formats
    { grep -rhoE '^URIs: *[^ ]+' /etc/apt/sources.list.d/debian.sources 2>/dev/null | sed 's/^URIs: *//'
      grep -hE '^deb ' /etc/apt/sources.list 2>/dev/null | grep -oE 'https?://[^ ]+'
      echo http://deb.debian.org/debian; } | head -n 1
}

make_base() {
    [ -s "$DIR/base.tar" ] && return
    local root=$DIR/base
    say "making the base image with debootstrap (about 3 minutes, once)"
    rm -rf "$root"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates,libseccomp2 \
        bookworm "$root" "$(mirror)" >"$DIR/debootstrap.log" 2>&1 \
        || { say "debootstrap failed:"; tail -n 20 "$DIR/debootstrap.log" >&2; exit 1; }
    # Builds trust what this machine trusts (a company's proxy, say).
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
    tar -C "$root" -cf "$DIR/base.tar.part" .
    mv "$DIR/base.tar.part" "$DIR/base.tar"
    rm -rf "$root"
}

import_base() {
    docker -H "$SOCKET" image inspect "$IMAGE" >/dev/null 2>&1 && return
    say "importing $IMAGE"
    docker -H "$SOCKET" import -c 'ENV LANG=C.UTF-8 PIP_CERT=/etc/ssl/certs/ca-certificates.crt' \
        "$DIR/base.tar" "$IMAGE" >&2
}

stop_engine() {
    [ -s "$DIR/pid" ] || return 0
    local pid
    pid=$(cat "$DIR/pid")
    say "stopping dockerd $pid"
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 60); do kill -0 "$pid" 2>/dev/null || break; sleep 1; done
    ! kill -0 "$pid" 2>/dev/null || say "dockerd $pid is still there after 60 s"
    # Its own mount, which it leaves behind; with it the folder could not be deleted.
    umount "$DIR/exec/netns/default" 2>/dev/null || true
}

case ${1:-} in
up)
    need_debian_root
    install_packages
    start_engine
    make_base
    import_base
    echo "export DOCKER_HOST=$SOCKET BASE_IMAGE=$IMAGE"
    ;;
down) stop_engine ;;
*)
    say "usage: engine.sh up|down"
    exit 2
    ;;
esac
