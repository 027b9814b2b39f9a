#!/bin/sh
# Runs before the package is removed or upgraded: Debian passes "remove" or "upgrade", RPM the number of versions that
# remain.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now hatchel.socket hatchel.service
fi
