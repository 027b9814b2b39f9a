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

// Postgres is a Store in the tables of a PostgreSQL database, whose names begin with hatchel_. Any number of processes, on any number of machines, may have it open: what one
// of them has been told the others know. That an owner is present is judged by the clock of the database; the clocks of the processes may differ by less than Skew.
type Postgres struct {
	pool    *pgxpool.Pool
	channel string       // on which is told of what was changed
	origin  string       // this store, among those that tell
	bound   atomic.Int64 // bytes, from which on nothing new is taken

	mu       sync.Mutex
	swept    time.Time // when what had expired was last removed; guarded by mu
	held     int64     // bytes, when that was measured and what this process has added since; guarded by mu
	measured time.Time // guarded by mu
}

const (
	callTime = 10 * time.Second // that one call of a method may take
	mostOpen = 8                // connections, unless the address says pool_max_conns
)

// OpenPostgres opens the store in the database of a URL, or of the words that libpq knows. Tables that are missing are made, in the first schema of its search_path. A database
// that goes away comes back by itself: until then methods fail with ErrAway. An error is a sentence for the operator, which holds nothing of the address.
func OpenPostgres(ctx context.Context, address string) (*Postgres, error) {
	config, err := postgres.Config(address, mostOpen)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, postgres.Unreadable
	}
	p := &Postgres{pool: pool, origin: rand.Text()}
	p.Bound(mostHeld)
	if p.channel, err = prepareTables(ctx, pool); err != nil {
		pool.Close()
		return nil, postgresFault(ctx, err)
	}
	p.swept = time.Now().Add(-sweepEvery)
	return p, nil
}

// CheckPostgres is why a database could not be opened, without making anything in it.
func CheckPostgres(ctx context.Context, address string) error {
	config, err := postgres.Config(address, 1)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(bounded, config.ConnConfig)
	if err != nil {
		return postgresFault(ctx, err)
	}
	defer conn.Close(bounded)
	_, err = tablesFound(bounded, conn)
	return postgresFault(ctx, err)
}

// Bound says from how many bytes on nothing new is taken: 1 GiB when nobody says so. As much again is there for what becomes of what was taken.
func (p *Postgres) Bound(bytes int64) { p.bound.Store(bytes) }

// Close implements Store.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}

// Ping implements Remote.
func (p *Postgres) Ping(ctx context.Context) error {
	return p.run(ctx, p.known)
}

// known is why the tables are none that this program knows: another version of it has made them anew.
func (p *Postgres) known(ctx context.Context) error {
	found, err := tablesFound(ctx, p.pool)
	if err == nil && found != tablesVersion {
		err = refused("its tables are not there any more")
	}
	return err
}

// Present implements Store.
func (p *Postgres) Present(ctx context.Context, owner string, until time.Time) error {
	return p.run(ctx, func(ctx context.Context) error {
		_, err := p.pool.Exec(ctx, "INSERT INTO hatchel_owners (name, expires) VALUES ($1, "+databaseNow+" + $2) ON CONFLICT (name) DO UPDATE SET expires = excluded.expires",
			owner, time.Until(until).Milliseconds())
		return err
	})
}

// run does one call of a method. What has certainly not reached the database, because the connection was lost, is tried again on another one.
func (p *Postgres) run(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := do(bounded)
	if err != nil && pgconn.SafeToRetry(err) {
		err = do(bounded)
	}
	if err != nil {
		if postgres.ReadOnly(err) {
			p.pool.Reset() // another server takes the writes now: the next connections are to that one
		}
		if missing(err) {
			err = cmp.Or(p.known(bounded), err)
		}
		return postgresFault(ctx, err)
	}
	if p.due() {
		p.tidy(bounded)
	}
	return nil
}

// changes reports whether a statement has changed, or given, a row.
func (p *Postgres) changes(ctx context.Context, statement string, arguments ...any) (bool, error) {
	tag, err := p.pool.Exec(ctx, statement, arguments...)
	return err == nil && tag.RowsAffected() > 0, err
}
