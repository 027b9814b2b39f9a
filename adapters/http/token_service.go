package http

import (
	"hatchel/adapters"
	"hatchel/adapters/credential/auth"
)

// NewTokenService returns what sends the requests for tokens of a connection that is not one of this package. It may be
// used concurrently.
func NewTokenService(env adapters.Env) auth.Service { return newService(nil, 0, env) }
