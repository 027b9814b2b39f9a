package upstream

import (
	"errors"
	"net/http"

	"hatchel/adapters/mcp/client"
)

// WantsToken reports whether a server has refused a request because of its credentials.
func WantsToken(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusUnauthorized
}
