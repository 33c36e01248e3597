#!/usr/bin/env bash
# Collects the files of a container's image around one program, in two folders: `system`,
# which is root's and only read, and `state`, where the program's user may write.
#
#   packaging/rootfs.sh PROGRAM OUTPUT
set -euo pipefail
program=$1 system=$2/system state=$2/state
umask 022
mkdir -p "$system/usr/local/bin" "$state/var/lib/$(basename "$program")" "$state/tmp"

strip --strip-all -o "$system/usr/local/bin/$(basename "$program")" "$program"
# The loader and each shared library, at the paths that the loader searches.
ldd "$program" | grep --only-matching '/[^ ]*' | while read -r library; do
    install -D -m 755 "$library" "$system$library"
done
# The certificates of public authorities, for calls to the providers.
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/ca-certificates.crt"
# glibc has both kinds of look-up built in; the engine mounts their files.
echo 'hosts: files dns' > "$system/etc/nsswitch.conf"
