package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Environment variables of the rows with a PostgreSQL server, which .ci/services sets, and of their targets.
const (
	postgresServer  = "HATCHEL_TEST_POSTGRES"
	pgbouncer       = "HATCHEL_TEST_PGBOUNCER"
	postgresAddress = "HATCHEL_BENCH_POSTGRES"
)

// available reports whether a row has the servers that it needs.
func (r *callRow) available() bool {
	return (!r.postgres || os.Getenv(postgresServer) != "") && (!r.pooled || os.Getenv(pgbouncer) != "")
}

const createItems = `DROP TABLE IF EXISTS hatchel_bench_items;
CREATE TABLE hatchel_bench_items (id integer PRIMARY KEY, name text NOT NULL, price integer NOT NULL);
INSERT INTO hatchel_bench_items SELECT id, 'Item number ' || id, id * 7 + 1 FROM generate_series(1, 10000) AS id;
ANALYZE hatchel_bench_items`

// prepareDatabase creates the table of a row, starts its pooler if it has one, and has its targets find the address.
// The function that it returns undoes that.
func (b *bench) prepareDatabase(ctx context.Context, row *callRow) (undo func(), err error) {
	if !row.available() {
		return nil, fmt.Errorf("it needs %s and %s; .ci/services sets them", postgresServer, pgbouncer)
	}
	address := os.Getenv(postgresServer)
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	drop := func() {
		conn.Exec(context.WithoutCancel(ctx), "DROP TABLE hatchel_bench_items") // best effort
		conn.Close(context.WithoutCancel(ctx))
	}
	if _, err = conn.Exec(ctx, createItems, pgx.QueryExecModeSimpleProtocol); err != nil {
		drop()
		return nil, err
	}
	if !row.pooled {
		return drop, os.Setenv(postgresAddress, address)
	}
	pooled, stop, err := startPooler(ctx, address, b.folder)
	if err != nil {
		drop()
		return nil, err
	}
	return func() { stop(); drop() }, os.Setenv(postgresAddress, pooled)
}

// startPooler starts a PgBouncer with one connection to the server for each transaction, in front of an address.
func startPooler(ctx context.Context, address, folder string) (pooled string, stop func(), err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	host := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(host)
	config := filepath.Join(folder, "pgbouncer.ini")
	text := fmt.Appendf(nil, `[databases]
hatchel = host=%s port=%s dbname=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
`, u.Hostname(), u.Port(), strings.TrimPrefix(u.Path, "/"), u.User.Username(), port)
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return "", nil, err
	}
	command := exec.CommandContext(ctx, os.Getenv(pgbouncer), "-q", config)
	if os.Getuid() == 0 { // it does not run as root
		command.Args = append(command.Args, "-u", "nobody")
		if err := os.Chmod(folder, 0o755); err != nil {
			return "", nil, err
		}
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { command.Process.Kill(); command.Wait() }
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if conn, err := net.Dial("tcp", host); err == nil {
			conn.Close()
			return "postgres://hatchel@" + host + "/hatchel?sslmode=disable", stop, nil
		}
	}
	stop()
	return "", nil, errors.New("PgBouncer does not listen")
}

// newPostgresQuery returns the point query of the floor: prepared, or behind a pooler, which changes connections, in
// the mode of pgx for one.
func newPostgresQuery(pooled bool) (func(ctx context.Context, id int) ([]item, error), error) {
	config, err := pgxpool.ParseConfig(os.Getenv(postgresAddress))
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10 // as max_connections is by default
	if pooled {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id int) ([]item, error) {
		rows, err := pool.Query(ctx, "SELECT id, name, price FROM hatchel_bench_items WHERE id = $1", id)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return readItems(rows)
	}, nil
}
