// Package http implements the http block and its connection.
//
// A request is built from bound values only. The author writes the address, and every value in it is
// escaped as one part of the address. Query parameters and headers are set one by one, and the body is
// encoded from a value. A request goes to the host that the author named and to no other, whatever the
// service returns. Proxies are taken from the environment (HTTPS_PROXY, HTTP_PROXY,
// ALL_PROXY, NO_PROXY).
package http

import "hatchel/adapters"

const blockDoc = "Sends an HTTP request. The label names a connection; without a label the address is a whole URL. " +
	"Returns output.status, output.headers (with names in lower case) and output.body. " +
	"With paginate it returns output.items, output.pages and output.truncated."

// Adapter returns the http block of tools and steps.
func Adapter() adapters.Adapter {
	a := adapters.New("http", blockDoc, (*block).spec, bind).WithConnections(false, "http").WithMock(mockKind())
	a.Kind.Snippets, a.Kind.Request = snippets, true
	return a
}

// Connector returns the kind of connection "http".
func Connector() adapters.Connector {
	return adapters.NewConnector("http", "An HTTP service.", (*connection).spec, open)
}
