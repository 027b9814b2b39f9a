package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/runtime/postgres"
)

// Postgres is a Store in tables of a PostgreSQL database whose names begin with hatchel_. Any number of
// processes on any number of machines may have it open. Heartbeats are judged by the clock of the
// database; the clocks of the processes may differ by less than [MaxClockSkew].
type Postgres struct {
	pool    *pgxpool.Pool
	channel string       // on which changes are announced
	origin  string       // of this store, in announcements
	quota   atomic.Int64 // bytes

	mu       sync.Mutex
	swept    time.Time // when expired rows were last removed; guarded by mu
	size     int64     // bytes, when they were measured, and what this process has added since; guarded by mu
	measured time.Time // guarded by mu
}

const (
	callTimeout    = 10 * time.Second // of one method call
	maxConnections = 8                // unless the address says pool_max_conns
)

// OpenPostgres opens the store in the database of a URL, or of a libpq connection string. It creates
// missing tables in the first schema of the search_path. While the database is unavailable methods
// fail with [ErrUnavailable]; the connection comes back by itself. An error is a sentence for the operator and
// holds nothing of the address.
func OpenPostgres(ctx context.Context, address string) (*Postgres, error) {
	config, err := postgres.Config(address, maxConnections)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, postgres.ErrMalformedAddress
	}
	p := &Postgres{pool: pool, origin: rand.Text()}
	p.SetQuota(defaultQuotaBytes)
	if p.channel, err = preparePostgres(ctx, pool); err != nil {
		pool.Close()
		return nil, postgresError(ctx, err)
	}
	p.swept = time.Now().Add(-sweepInterval)
	return p, nil
}

// CheckPostgres returns why OpenPostgres would fail. It creates nothing.
func CheckPostgres(ctx context.Context, address string) error {
	config, err := postgres.Config(address, 1)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(bounded, config.ConnConfig)
	if err != nil {
		return postgresError(ctx, err)
	}
	defer conn.Close(bounded)
	_, err = findTables(bounded, conn)
	return postgresError(ctx, err)
}

// SetQuota sets the quota in bytes: Add fails when the store is larger. The default is 1 GiB. As much
// again is reserved for changes and follow-up records.
func (p *Postgres) SetQuota(bytes int64) { p.quota.Store(bytes) }

// Close implements Store.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}

// Ping implements Remote.
func (p *Postgres) Ping(ctx context.Context) error {
	return p.run(ctx, p.checkTables)
}

// checkTables returns an error when the tables are gone, or another version of this program has
// changed them.
func (p *Postgres) checkTables(ctx context.Context) error {
	exist, err := findTables(ctx, p.pool)
	if err == nil && !exist {
		err = operatorError("its tables no longer exist")
	}
	return err
}

// Heartbeat implements Store.
func (p *Postgres) Heartbeat(ctx context.Context, owner string, until time.Time) error {
	return p.run(ctx, func(ctx context.Context) error {
		const statement = "INSERT INTO hatchel_owners (name, expires) VALUES ($1, " + databaseNow + " + $2) " +
			"ON CONFLICT (name) DO UPDATE SET expires = excluded.expires"
		_, err := p.pool.Exec(ctx, statement, owner, time.Until(until).Milliseconds())
		return err
	})
}

// run runs one method call. It tries a second time when the first try has certainly not reached the
// database, because the connection was lost.
func (p *Postgres) run(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(bounded)
	if err != nil && pgconn.SafeToRetry(err) {
		err = do(bounded)
	}
	if err != nil {
		if postgres.IsReadOnly(err) {
			p.pool.Reset() // after a failover new connections reach the server that accepts writes
		}
		if isUndefined(err) {
			err = cmp.Or(p.checkTables(bounded), err)
		}
		return postgresError(ctx, err)
	}
	if p.sweepDue() {
		p.sweepSome(bounded)
	}
	return nil
}

// execute reports whether a statement has changed or returned a row.
func (p *Postgres) execute(ctx context.Context, statement string, arguments ...any) (bool, error) {
	tag, err := p.pool.Exec(ctx, statement, arguments...)
	return err == nil && tag.RowsAffected() > 0, err
}
