#!/bin/sh
# Make a root folder of Debian's next release, which has newer Pythons than the machine; chroot into it needs root.
#   tools/python_chroot.sh DIR             Python 3.14 in DIR, once: a second call only copies pip's configuration
#   tools/python_chroot.sh DIR 3.14 3.15   these Pythons
# Then: tools/python_chroot.sh --run DIR COMMAND...    runs COMMAND in it, with this repository at /repository.
# The mirror is the machine's own (MIRROR=... for another, SUITE=... for another release), and so are pip's
# configuration and the certificates. Never make DIR within the repository.
set -eu
repository=$(cd "$(dirname "$0")/.." && pwd)

machines_mirror() { # the first http address of apt's sources that has Debian itself
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
        grep -oE '^(URIs:|deb( \[[^]]*\])?) +https?://[^ ]+' | grep -oE 'https?://[^ ]+' | grep -E '/debian/?$' | head -n 1
}

pip_folders() { # folders of packages that pip's configuration names: find-links = /folder, file:///folder/simple
    { python3 -m pip config list 2>/dev/null || true; } | grep -E '^[^=]*(find-links|index-url)=' |
        grep -oE "(file://)?/[^ ']+" | sed 's,^file://,,; s,^//.*,,; s,/simple/*$,,' | sort -u
}

mounted() { grep -q " $1 " /proc/mounts; }

bind() { # FOLDER AT: within the namespace of the one command, so that nothing stays mounted
    mkdir -p "$2"
    mounted "$2" || mount --bind "$1" "$2"
}

make_root() { # DIR VERSION...
    root=$1 && shift
    [ $# -gt 0 ] || set -- 3.14
    if [ ! -e "$root/.made" ]; then
        command -v debootstrap >/dev/null || { echo "debootstrap is not installed: apt-get install debootstrap" >&2; exit 1; }
        mirror=${MIRROR:-$(machines_mirror)}
        [ -n "$mirror" ] || { echo "apt's sources name no mirror of Debian: give one with MIRROR=" >&2; exit 1; }
        debootstrap --variant=minbase --include=ca-certificates,make,git,g++ "${SUITE:-forky}" "$root" "$mirror" \
            /usr/share/debootstrap/scripts/sid
        touch "$root/.made"
    fi
    for version; do # the compiler and the headers are for Inductor, the test suite for tests/interpreter/cpython
        [ -x "$root/usr/bin/python$version" ] || "$0" --run "$root" apt-get install -y -q --no-install-recommends \
            "python$version" "python$version-venv" "libpython$version-dev" "libpython$version-testsuite"
    done
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    if [ -e /etc/pip.conf ]; then cp -L /etc/pip.conf "$root/etc/pip.conf"; fi
    user=$(python3 -m pip config debug 2>/dev/null | sed -n "s/^ *\(.*pip\.conf\), exists: True$/\1/p" | grep -v '^/etc/pip.conf$' | tail -n 1)
    if [ -n "$user" ]; then mkdir -p "$root/etc/xdg/pip" && cp -L "$user" "$root/etc/xdg/pip/pip.conf"; fi
}

run_in_root() { # DIR COMMAND...
    root=$(cd "$1" && pwd) && shift
    bind "$repository" "$root/repository"
    bind /proc "$root/proc"
    bind /dev "$root/dev"
    bind /tmp "$root/tmp"
    for folder in $(pip_folders); do if [ -d "$folder" ]; then bind "$folder" "$root$folder"; fi; done
    exec chroot "$root" sh -c 'cd /repository && exec "$@"' sh "$@"
}

case ${1:-} in
    --run) shift
        if [ "${IN_NAMESPACE:-}" = yes ]; then unset IN_NAMESPACE; run_in_root "$@"; fi
        IN_NAMESPACE=yes exec unshare --mount "$0" --run "$@" ;;
    "" | -*) sed -n '2,7s/^# //p' "$0" >&2; exit 2 ;;
    *) make_root "$@" ;;
esac
