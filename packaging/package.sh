#!/usr/bin/env bash
# Packages the programs of a folder: an archive, a wheel for pip, a package for npm.
#
#   packaging/package.sh PROGRAMS OUTPUT
#
# The same programs at the same commit become the same bytes: files in one order, of one
# owner, at the time of the commit.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
programs=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
cd "$here/.."

version=$(sed -n '0,/^version = "\(.*\)"$/s//\1/p' Cargo.toml)
target=$(rustc --version --verbose | sed -n 's/^host: //p')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022
case $target in
    *-linux-*) ;;
    *) echo "package.sh: packages are made on Linux alone, and this is $target" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One program without its symbols.
take() {
    strip --strip-all -o "$2/$1" "$programs/$1"
    chmod 755 "$2/$1"
}

# What every package contains beside its programs.
describe() {
    cp LICENSE-APACHE LICENSE-MIT "$1"
    sed -n '/^## Packages$/,/^## /{/^## Packages$/s/.*/# The sign-in kit/;/^## /!p}' docs/INSTALL.md > "$1/README.md"
}

name=signin-kit-$version-$target
mkdir "$work/$name"
for program in stack broker consumer-demo conformance examine signin-kit; do
    take $program "$work/$name"
done
describe "$work/$name"
tar --create --directory "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner "$name" | gzip --no-name > "$output/$name.tar.gz"

mkdir -p "$work/npm/bin"
take signin-kit "$work/npm/bin"
describe "$work/npm"
python3 packaging/wheel.py "$work/npm/bin/signin-kit" "$work/npm" "$version" "$target" "$output"
case $target in
    x86_64-*) cpu=x64 ;;
    aarch64-*) cpu=arm64 ;;
    *) echo "package.sh: npm has no name that is known here for the processor of $target" >&2; exit 1 ;;
esac
sed "s/VERSION/$version/; s/CPU/$cpu/" packaging/package.json > "$work/npm/package.json"
(cd "$work/npm" && npm pack --silent --ignore-scripts --pack-destination "$output" > /dev/null)
