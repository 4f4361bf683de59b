#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command with the paths of a browser, of its fonts and of axe-core. If one is not available,
# it prints the reason, and succeeds without running the command.
# usage: page.sh FOLDER COMMAND [ARGUMENT]...
set -eu
folder=$1
shift
PINTLE_BROWSER=$("$(dirname "$0")/browser.sh" "$folder/browser")
PINTLE_AXE=$("$(dirname "$0")/axe.sh" "$folder/axe")
PINTLE_FONTS=$folder/browser/fonts
if [ -z "$PINTLE_BROWSER" ] || [ -z "$PINTLE_AXE" ]; then
	echo 'page: SKIPPED, nothing was tested in a browser: see above'
	exit 0
fi
export PINTLE_BROWSER PINTLE_AXE PINTLE_FONTS
exec "$@"
