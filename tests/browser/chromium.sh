#!/bin/sh
# Prints the path of a Chromium: $CHROMIUM, or what is on the PATH, or Debian's package, installed now.
set -eu

find_browser() {
  for name in ${CHROMIUM:-chromium chromium-browser google-chrome google-chrome-stable}; do
    command -v "$name" && return
  done
  return 1
}

find_browser && exit
if [ -n "${CHROMIUM:-}" ]; then
  echo "CHROMIUM names no browser: $CHROMIUM" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "no browser found: install Chromium or Chrome, or set CHROMIUM to its path" >&2
  exit 1
fi
echo "installing Debian's chromium (half a minute, once)" >&2
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y -qq --no-install-recommends chromium"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
# The lists of packages may be missing or old; then they are fetched.
if ! $install > "$log" 2>&1 && ! { apt-get update -qq && $install; } >> "$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
find_browser || { echo "apt-get has installed no chromium" >&2; exit 1; }
