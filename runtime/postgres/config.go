// Package postgres connects the parts of a server that store data in PostgreSQL. [Config] returns how
// connections are made, and [DescribeError] turns an error of the driver into one for the operator. Neither
// reveals anything of the address.
package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout applies unless the address says connect_timeout.
const connectTimeout = 5 * time.Second

// runtimeParams apply unless the address says otherwise.
var runtimeParams = map[string]string{
	"application_name":                    "hatchel",
	"statement_timeout":                   "10s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",
	"synchronous_commit":                  "on",
}

// Config parses a URL or a libpq connection string. Connections lead to a server that accepts writes,
// every statement has a timeout, and commits wait for the disk. There are at most maxConns
// connections, unless the address says pool_max_conns. The error is [ErrMalformedAddress].
func Config(address string, maxConns int32) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil { // its text may hold parts of the address
		return nil, ErrMalformedAddress
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for name, value := range runtimeParams {
		if _, set := c.RuntimeParams[name]; !set {
			c.RuntimeParams[name] = value
		}
	}
	return config, nil
}
