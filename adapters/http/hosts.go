package http

import (
	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/urltext"
)

// checkHosts requires hosts if the host of the address is a value of the call, and rejects it otherwise.
func (b *block) checkHosts(checks *adapters.Checks, conn *hcl.Connection) {
	_, address := b.verb()
	needed := conn == nil && (*address).NeedsHosts()
	checks.Refuse(conn != nil && b.Hosts != nil, &b.Hosts, "The host is that of the connection. Remove hosts.")
	checks.Refuse(needed && len(b.Hosts) == 0, address, "The host of this address is a value of the call, so the "+
		`block must list the allowed hosts: hosts = ["api.example.com"].`)
	checks.Refuse(conn == nil && !needed && b.Hosts != nil, &b.Hosts,
		"The host is part of the address. Remove hosts, or make the whole address a value of the call.")
	for _, host := range b.Hosts {
		checks.Refuse(!urltext.ValidHost(host), &b.Hosts,
			`%q is not a host. Write one such as "api.example.com", "*.example.com" or "localhost:8080".`, host)
	}
}
