// Package http turns http blocks into requests. Adapter is the block, Connector the service that several blocks share.
//
// A request is built from bound values only: an address that the author wrote with every value escaped as one part of it, a query and headers made
// entry by entry, and a body that is a value, never a text that values were glued into. It goes to the host that the author named and to no
// other, whatever the service answers. Proxies are taken from the environment of the process (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), as other command line
// programs do.
package http

import (
	"hatchel/adapters"
)

// Adapter declares the http block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("http", "Sends an HTTP request. Its label names a connection; without one the address is a whole URL. Gives output.status, output.headers, with names in lower case, and output.body; with paginate output.items, output.pages and output.truncated.", (*request).spec, bind).
		Over(false, "http")
}

// Connector declares connection "http": a service, how to sign in to it, and what it may send.
func Connector() adapters.Connector {
	return adapters.NewConnector("http", "A service that speaks HTTP.", (*connection).spec, open)
}
