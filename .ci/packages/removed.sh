#!/bin/sh
# Runs after the package was removed. Debian's "purge" also removes the state; RPM has no purge and keeps it. The unit
# has a dynamic user, so there is no user to remove.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/hatchel /var/lib/private/hatchel
fi
