package main

import (
	"os"
	"strings"

	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
	"hatchel/runtime/edge/server"
)

// keyVariable holds the credential, because other users of the machine can read command lines.
const keyVariable = "HATCHEL_KEY"

// plainAddress matches a host with a port and nothing that could be a password.
var plainAddress = lazyregexp.New(`^[A-Za-z0-9.-]+:[0-9]{1,5}$`)

// checkAddress checks the URL of a server, and where it was given, and returns the key of the environment for it, if
// there is one.
func checkAddress(given, address string) (key string, err error) {
	u, problem := hostname.ParseURL(address, 0)
	if problem != "" {
		if plainAddress.MatchString(address) {
			scheme := "https"
			if server.IsLoopback(address) || strings.HasPrefix(address, "localhost:") {
				scheme = "http"
			}
			return "", misusef("%s requires the URL of a server: write %s://%s", given, scheme, address)
		}
		// The address is not quoted: it may have a password.
		return "", misusef("%s requires the URL of a server, as in https://example.com: %s", given, problem)
	}
	key = os.Getenv(keyVariable)
	switch {
	case key != "" && hostname.IsReadable(u):
		return "", misusef("%s: http would send the key to %s unencrypted. Use https", given, u.Host)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", misusef("%s: the value of %s is not a valid key", given, keyVariable)
	}
	return key, nil
}

// newClient returns the client of a server, given its base URL or that of its MCP endpoint, and where it was given. It
// sends the key of the environment, if there is one.
func newClient(given, address string) (*server.Client, error) {
	key, err := checkAddress(given, address)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/mcp")
	return server.NewClient(base, key, "hatchel/"+release()), nil
}

// isReadable reports whether others can read what is sent to an address that was checked.
func isReadable(address string) bool {
	u, problem := hostname.ParseURL(address, 0)
	return problem != "" || hostname.IsReadable(u)
}
