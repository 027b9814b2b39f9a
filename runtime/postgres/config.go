// Package postgres is how the parts of a server that write to a PostgreSQL database reach it.
// [Config] says how connections are made, [Fault] says in words for an operator what is wrong;
// nothing of the address is in them.
package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTime is how long it may take to connect, unless the address says connect_timeout.
const connectTime = 5 * time.Second

// Config is how connections are made to the database of a URL, or of the words that libpq knows: to
// a server that takes writes, every statement bounded, and what is committed written to its disk.
// There are so many of them at most, unless the address says pool_max_conns.
func Config(address string, most int32) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil { // its text may hold parts of the address
		return nil, Unreadable
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = most
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTime
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for name, value := range map[string]string{
		"application_name": "hatchel", "statement_timeout": "10s", "lock_timeout": "10s",
		"idle_in_transaction_session_timeout": "30s", "synchronous_commit": "on",
	} {
		if _, said := c.RuntimeParams[name]; !said {
			c.RuntimeParams[name] = value
		}
	}
	return config, nil
}
