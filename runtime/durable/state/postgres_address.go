package state

import (
	"context"
	"crypto/rand"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// ErrMoved is the error of an address that leads to another store than the open one.
const ErrMoved = operator.Error("the state store is open at another place")

// errNoAccess is the error of a user who sees the tables and may not use them all.
const errNoAccess = operator.Error("its user may not read and write all tables of the state: " +
	"grant SELECT, INSERT, UPDATE and DELETE on them")

// addresses say how connections are made.
type addresses struct {
	pooled *pgxpool.Config // of statements
	direct *pgxpool.Config // of the connection that listens
}

// parseAddresses parses the address of statements and that of notifications, which is empty for the same one.
func parseAddresses(address, listen string) (a *addresses, err error) {
	parse := postgres.PooledConfig
	if listen == "" {
		parse, listen = postgres.Config, address
	}
	a = new(addresses)
	if a.pooled, err = parse(address, maxConnections); err != nil {
		return nil, err
	}
	if a.direct, err = postgres.Config(listen, 1); err != nil {
		return nil, err
	}
	maps.Copy(a.direct.ConnConfig.RuntimeParams, keepAlive)
	return a, nil
}

// place names the servers and the database of statements.
func (a *addresses) place() string {
	c := a.pooled.ConnConfig
	join := func(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	servers := []string{join(c.Host, c.Port)}
	for _, f := range c.Fallbacks { // also the same server without TLS
		servers = append(servers, join(f.Host, f.Port))
	}
	slices.Sort(servers)
	return strings.Join(slices.Compact(servers), ",") + "/" + c.Database
}

// check connects as the addresses say, and returns why notifications would not arrive, or what look returns.
func (a *addresses) check(ctx context.Context, look func(context.Context, *pgx.Conn) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := postgres.ConnectConfig(bounded, a.pooled)
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, conn)
	if err := look(bounded, conn); err != nil {
		return postgres.DescribeError(ctx, err)
	}
	listener, err := postgres.ConnectConfig(bounded, a.direct)
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, listener)
	return postgres.DescribeError(ctx, checkNotifications(bounded, listener, conn, "hatchel_check_"+rand.Text()))
}

// CheckPostgres returns why OpenPostgresThrough would fail, or notifications would not arrive. It creates nothing.
func CheckPostgres(ctx context.Context, address, listen string) error {
	a, err := parseAddresses(address, listen)
	if err != nil {
		return err
	}
	return a.check(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := findTables(ctx, conn)
		return err
	})
}

// ChangeAddresses has connections be made as other addresses of [OpenPostgresThrough] say from now on, as after the
// password was changed. It makes one first, and changes nothing if that fails or if it does not lead to the tables of
// this store. Idle connections are closed, and those in use when they are free; the size of the pool stays. The error
// is [ErrMoved] or one for the operator.
func (p *Postgres) ChangeAddresses(ctx context.Context, address, listen string) error {
	next, err := parseAddresses(address, listen)
	if err != nil {
		return err
	}
	if next.place() != p.addresses.Load().place() {
		return ErrMoved
	}
	err = next.check(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		const query = "SELECT coalesce(to_regclass('hatchel_records')::oid, 0)"
		var tables uint32
		err := conn.QueryRow(ctx, query).Scan(&tables)
		if err != nil {
			return err
		}
		if tables != p.tables {
			return ErrMoved
		}
		return checkAccess(ctx, conn)
	})
	if err != nil {
		return err
	}
	p.addresses.Store(next)
	p.pool.Reset()
	p.listener.mu.Lock()
	defer p.listener.mu.Unlock()
	if p.listener.reconnect != nil {
		p.listener.reconnect()
	}
	return nil
}

// checkAccess returns an error if the user of a connection may not use a table.
func checkAccess(ctx context.Context, db postgres.Querier) error {
	const query = "SELECT bool_and(has_table_privilege(name, privilege)) " +
		"FROM unnest(ARRAY['hatchel_records', 'hatchel_owners', 'hatchel_rates']) AS t (name), " +
		"unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (privilege)"
	var allowed bool
	err := db.QueryRow(ctx, query).Scan(&allowed)
	if err == nil && !allowed {
		err = errNoAccess
	}
	return err
}

// setAddress changes how the pool makes a connection.
func (p *Postgres) setAddress(_ context.Context, config *pgx.ConnConfig) error {
	*config = *p.addresses.Load().pooled.ConnConfig.Copy()
	return nil
}
