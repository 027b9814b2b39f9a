package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Querier is a connection, a pool or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// CreateTables executes schema unless the tables exist. Of several processes one creates them, with
// the advisory lock. A role that may not create tables can use existing ones.
func CreateTables(ctx context.Context, pool *pgxpool.Pool, lock int, schema string,
	exist func(context.Context, Querier) (bool, error)) error {
	found, err := exist(ctx, pool)
	if err != nil || found {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
			return err
		}
		if found, err := exist(ctx, tx); found || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
}

// Connect opens a connection as [Config] says. The error is one for the operator.
func Connect(ctx context.Context, address string) (*pgx.Conn, error) {
	config, err := Config(address, 1)
	if err != nil {
		return nil, err
	}
	return ConnectConfig(ctx, config)
}

// ConnectConfig opens one connection. The error is one for the operator.
func ConnectConfig(ctx context.Context, config *pgxpool.Config) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	return conn, DescribeError(context.WithoutCancel(ctx), err)
}

// Disconnect closes a connection, also after ctx has ended, and waits up to a second for it.
func Disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	conn.Close(ctx)
}
