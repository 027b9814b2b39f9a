#!/bin/sh
# Runs after the package was installed or upgraded. The unit is not enabled: a server without tools has nothing to serve.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart hatchel.service
fi
