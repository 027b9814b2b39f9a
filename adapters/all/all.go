// Package all lists the backends of the program. A new backend is a package next to this one and an entry
// in Set.
package all

import (
	"slices"

	"hatchel/adapters"
	"hatchel/adapters/csv"
	"hatchel/adapters/file"
	"hatchel/adapters/http"
	"hatchel/adapters/mcp"
	"hatchel/adapters/shell"
	"hatchel/adapters/sql"
)

// Set returns all backends and connections.
func Set() adapters.Set {
	return adapters.Set{
		Adapters: []adapters.Adapter{http.Adapter(), sql.Adapter(), shell.Adapter(), csv.Adapter(), file.Adapter(),
			mcp.Adapter()},
		Connectors: slices.Concat([]adapters.Connector{http.Connector(), mcp.Connector()}, sql.Connectors(),
			shell.Connectors()),
	}
}
