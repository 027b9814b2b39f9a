// Package postgres connects the parts of a server that store data in PostgreSQL. [Config] returns how
// connections are made, and [DescribeError] turns an error of the driver into one for the operator. Neither
// reveals anything of the address.
package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout applies unless the address says connect_timeout.
const connectTimeout = 5 * time.Second

// Idle connections are closed, but for one.
const (
	minConns          = 1
	maxIdleTime       = 30 * time.Second
	healthCheckPeriod = 10 * time.Second
)

// sessionSettings apply unless the address says otherwise.
var sessionSettings = map[string]string{
	"statement_timeout":                   "10s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",
	"synchronous_commit":                  "on",
}

// Config parses a URL or a libpq connection string. Connections lead to a server that accepts writes,
// every statement has a timeout, and commits wait for the disk. There are at most maxConns
// connections, unless the address says pool_max_conns; those that are idle for 30 seconds are closed, but for one.
// The error is one for the operator.
func Config(address string, maxConns int32) (*pgxpool.Config, error) {
	config, err := parse(address, maxConns)
	if err != nil {
		return nil, err
	}
	for name, value := range sessionSettings {
		setParam(config, name, value)
	}
	return config, nil
}

// PooledConfig is Config for an address that leads through a pooler, which may run each transaction on another
// connection. No setting and no prepared statement of a connection is used, so statements have the timeouts of their
// contexts and the settings of their role.
func PooledConfig(address string, maxConns int32) (*pgxpool.Config, error) {
	config, err := parse(address, maxConns)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return config, nil
}

func parse(address string, maxConns int32) (*pgxpool.Config, error) {
	if strings.TrimSpace(address) != address {
		return nil, errBlanks
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil { // its text may hold parts of the address
		return nil, ErrMalformedAddress
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	config.MinConns, config.MaxConnIdleTime, config.HealthCheckPeriod = minConns, maxIdleTime, healthCheckPeriod
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = checkWritable
	}
	setParam(config, "application_name", "hatchel")
	return config, nil
}

// checkWritable returns an error unless a server accepts writes. PostgreSQL 14 says so when a connection begins; a
// pooler and older servers are asked.
func checkWritable(ctx context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("in_hot_standby") == "off" &&
		conn.ParameterStatus("default_transaction_read_only") == "off" {
		return nil
	}
	return pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn)
}

// setParam sets a parameter of new connections unless the address does.
func setParam(config *pgxpool.Config, name, value string) {
	if _, set := config.ConnConfig.RuntimeParams[name]; !set {
		config.ConnConfig.RuntimeParams[name] = value
	}
}
