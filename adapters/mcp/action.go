package mcp

import (
	"context"
	"errors"

	"hatchel/adapters"
)

// action is one mcp block that is served. It may be used concurrently.
type action struct {
	*block
	server *server
}

// Do implements adapters.Action.
func (a *action) Do(context.Context, *adapters.Call) (any, error) {
	return nil, errors.New("mcp: no client")
}
