package http

import (
	"context"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// ConnectorIn returns the kind of connection on a machine in a cloud.
func ConnectorIn(cloud *credential.Cloud) adapters.Connector {
	return adapters.NewConnector("http", "An HTTP service.", (*connection).spec,
		func(ctx context.Context, c *connection, env adapters.Env) (any, error) {
			return openInCloud(ctx, c, env, cloud)
		})
}
