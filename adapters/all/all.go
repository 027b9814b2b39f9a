// Package all lists every backend of the program. A new one is a folder beside this one and a line here.
package all

import (
	"slices"

	"hatchel/adapters"
	"hatchel/adapters/csv"
	"hatchel/adapters/file"
	"hatchel/adapters/http"
	"hatchel/adapters/shell"
	"hatchel/adapters/sql"
)

// Set returns the backends and connections.
func Set() adapters.Set {
	return adapters.Set{
		Adapters:   []adapters.Adapter{http.Adapter(), sql.Adapter(), shell.Adapter(), csv.Adapter(), file.Adapter()},
		Connectors: slices.Concat([]adapters.Connector{http.Connector()}, sql.Connectors(), shell.Connectors()),
	}
}
