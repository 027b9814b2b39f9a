package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/internal/operator"
	"hatchel/internal/queue"
	"hatchel/internal/service"
	"hatchel/runtime/durable/postgres"
)

// Postgres is a Store in tables of a PostgreSQL database whose names begin with hatchel_. Any number of
// processes on any number of machines may have it open. Heartbeats are judged by the clock of the
// database; the clocks of the processes may differ by less than [MaxClockSkew].
type Postgres struct {
	pool      *pgxpool.Pool
	addresses atomic.Pointer[addresses]
	name      string // of this process, in messages
	secret    []byte // nil if it did not exist when the store was opened
	tables    uint32 // OID of a table, which is in the names of channels and locks
	channel   string // of messages to all processes
	outbox    outbox
	listener  listener
	acks      acks
	running   *service.Group // what listens, and what sweeps
	recordStore

	mu       sync.Mutex
	size     int64     // bytes, when they were measured, and what this process has added since; guarded by mu
	measured time.Time // guarded by mu
}

var postgresStatements = newStatements("hatchel_records",
	"EXISTS (SELECT FROM hatchel_owners AS o WHERE o.name = owner AND o.expires > "+databaseNow+")",
	postgresReserve, postgresReserveFirst, postgresAhead, postgresPostpone)

const (
	callTimeout    = 10 * time.Second // of one method call
	maxConnections = 4                // unless the address says pool_max_conns
)

// OpenPostgres opens the store in the database of a URL, or of a libpq connection string. It creates
// missing tables in the first schema of the search_path. While the database is unavailable methods
// fail with [ErrUnavailable]; the connection comes back by itself. An error is a sentence for the operator and
// holds nothing of the address.
func OpenPostgres(ctx context.Context, address string) (*Postgres, error) {
	return OpenPostgresThrough(ctx, address, "")
}

// OpenPostgresThrough is OpenPostgres for an address that leads through a pooler which assigns connections per
// transaction. Notifications do not pass one, so they use the address listen, which leads to the same database. With
// an empty listen there is no pooler.
func OpenPostgresThrough(ctx context.Context, address, listen string) (*Postgres, error) {
	opened, err := parseAddresses(address, listen)
	if err != nil {
		return nil, err
	}
	p := &Postgres{name: rand.Text(), running: service.NewGroup(ctx)}
	p.addresses.Store(opened)
	config := opened.pooled.Copy()
	config.BeforeConnect = p.setAddress
	if p.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, postgres.ErrMalformedAddress
	}
	p.outbox = outbox{queue.New[outgoing](maxOutboxItems), service.NewGroup(ctx), envelopeWriter{name: p.name}}
	p.outbox.sender.Go(p.sendItems)
	p.listener.reader.senders = map[string]*envelopeSender{}
	p.statements, p.db, p.reservesAhead = postgresStatements, p, true
	p.SetQuota(defaultQuotaBytes)
	if err := p.prepare(ctx); err != nil {
		go p.pool.Close() // it waits for a connection that the pool has begun to make, for up to a minute
		return nil, postgres.DescribeError(ctx, err)
	}
	p.sweepSoon()
	return p, nil
}

// prepare reads the tables, and creates them first if they are missing.
func (p *Postgres) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := p.readTables(ctx)
	if err == nil || errors.As(err, new(*pgconn.ConnectError)) {
		return err
	}
	if err := postgres.CreateTables(ctx, p.pool, schemaLock, postgresSchema, findTables); err != nil {
		return err
	}
	return p.readTables(ctx)
}

// readTables reads what a server needs before its first answer, in one round trip.
func (p *Postgres) readTables(ctx context.Context) error {
	const query = "SELECT version, 'hatchel_records'::regclass::oid, (SELECT body FROM hatchel_records " +
		"WHERE kind = '" + secretKind + "' AND name = '" + secretName + "') FROM hatchel_state"
	var version int
	err := p.pool.QueryRow(ctx, query, pgx.QueryExecModeSimpleProtocol).Scan(&version, &p.tables, &p.secret)
	p.channel = "hatchel_" + strconv.FormatUint(uint64(p.tables), 10)
	if err == nil {
		err = checkVersion(version, PostgresVersion)
	}
	return err
}

// Close implements Store. It sends the messages that are left if the database answers within a second.
func (p *Postgres) Close() error {
	p.outbox.queue.Close()
	p.outbox.sender.Drain(closeTimeout) // what is left
	p.running.Close()
	p.pool.Close()
	return nil
}

// Ping implements RemoteStore.
func (p *Postgres) Ping(ctx context.Context) error {
	return p.run(ctx, writes, func(ctx context.Context, _ session) error { return p.checkTables(ctx) })
}

// Versions implements RemoteStore.
func (p *Postgres) Versions(ctx context.Context, kind string, names []string) (versions map[string]int, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = p.run(ctx, reads, func(ctx context.Context, _ session) error {
		const query = "SELECT name, version FROM hatchel_records WHERE kind = $1 AND name = ANY($2) AND expires > $3"
		rows, _ := p.pool.Query(ctx, query, kind, names, now())
		versions = map[string]int{}
		var name string
		var version int
		_, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error { versions[name] = version; return nil })
		return err
	})
	return versions, err
}

// checkTables returns an error when the tables are gone, or another version of this program has
// changed them.
func (p *Postgres) checkTables(ctx context.Context) error {
	exist, err := findTables(ctx, p.pool)
	if err == nil && !exist {
		err = operator.Error("its tables no longer exist")
	}
	return err
}

// Heartbeat implements Store.
func (p *Postgres) Heartbeat(ctx context.Context, owner string, until time.Time) error {
	return p.run(ctx, writes, func(ctx context.Context, _ session) error {
		const statement = "INSERT INTO hatchel_owners (name, expires) VALUES ($1, " + databaseNow + " + $2) " +
			"ON CONFLICT (name) DO UPDATE SET expires = excluded.expires"
		_, err := p.pool.Exec(ctx, statement, owner, time.Until(until).Milliseconds())
		return err
	})
}

// run implements database. Statements say themselves that they do not wait for the disk. It tries a
// second time when the first try has certainly not reached the database, because the connection was
// lost.
func (p *Postgres) run(ctx context.Context, _ access, do func(context.Context, session) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(bounded, p)
	if err != nil && pgconn.SafeToRetry(err) {
		err = do(bounded, p)
	}
	if err != nil {
		if postgres.IsReadOnly(err) {
			p.pool.Reset() // after a failover new connections reach the server that accepts writes
		}
		if isUndefined(err) {
			err = cmp.Or(p.checkTables(bounded), err)
		}
		return postgres.DescribeError(ctx, err)
	}
	if p.sweepDue() {
		p.running.Go(p.sweepOnce)
	}
	return nil
}

// sweepOnce sweeps while calls go on.
func (p *Postgres) sweepOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if more, _ := p.sweep(ctx); more {
		p.sweepSoon()
	}
}

func (p *Postgres) execute(ctx context.Context, statement string, arguments ...any) (bool, error) {
	tag, err := p.pool.Exec(ctx, statement, arguments...)
	return err == nil && tag.RowsAffected() > 0, err
}

// change announces the change after it was made, so that NOTIFY, for which PostgreSQL has one lock, does not hold up
// changes that wait for the disk.
func (p *Postgres) change(ctx context.Context, r *Record, statement string, arguments ...any) (bool, error) {
	changed, err := p.execute(ctx, statement, arguments...)
	if changed && !r.NoNotify {
		body := r.Kind + " " + r.Name
		if len(body) > maxSealedItems-maxItemHeader {
			body = "" // any record
		}
		p.post(outgoing{item: item{changeItem, []byte(body)}})
	}
	return changed, err
}

// withClock adds nothing: the database has a clock.
func (p *Postgres) withClock(arguments ...any) []any { return arguments }

func (p *Postgres) queryRow(ctx context.Context, query string, arguments ...any) scanner {
	return p.pool.QueryRow(ctx, query, arguments...)
}

func (p *Postgres) list(ctx context.Context, query string, arguments ...any) ([]*Record, error) {
	rows, _ := p.pool.Query(ctx, query, arguments...) // CollectRows returns the error, too
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Record, error) { return scanRecord(row) })
}

const (
	measureInterval = 5 * time.Second
	measureSize     = "SELECT (SELECT coalesce(sum(octet_length(body) + $1), 0) FROM hatchel_records) + " +
		"(SELECT count(*) * $2 FROM hatchel_rates)"
)

// reserveBytes adds n to the size. What other processes add is noticed within 5 seconds.
func (p *Postgres) reserveBytes(ctx context.Context, limit int64, n int) (err error) {
	size, recent := p.addSize(0)
	if !recent {
		size, err = p.measure(ctx)
	}
	for more := true; more && err == nil && size >= limit; {
		if more, err = p.sweep(ctx); err == nil {
			size, err = p.measure(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case size >= limit:
		return ErrFull
	}
	p.addSize(n)
	return nil
}

// addSize adds to the size and returns it, and whether it was measured recently.
func (p *Postgres) addSize(n int) (size int64, recent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size += int64(n)
	return p.size, !p.measured.IsZero() && time.Since(p.measured) < measureInterval
}

func (p *Postgres) measure(ctx context.Context) (size int64, err error) {
	if err := p.pool.QueryRow(ctx, measureSize, recordRowSize, rateRowSize).Scan(&size); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size, p.measured = size, time.Now()
	return size, nil
}

// sweep removes expired rows, but only one batch of records so that no call waits long. It reports
// whether more records have expired.
func (p *Postgres) sweep(ctx context.Context) (more bool, err error) {
	const expired = "DELETE FROM hatchel_records WHERE ctid = ANY (ARRAY (" +
		"SELECT ctid FROM hatchel_records WHERE expires <= $1 LIMIT $2)) AND expires <= $1"
	tag, err := p.pool.Exec(ctx, expired, now(), sweepBatch)
	if err != nil {
		return false, err
	}
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_owners WHERE expires <= "+databaseNow); err != nil {
		return false, err
	}
	_, err = p.pool.Exec(ctx, "DELETE FROM hatchel_rates WHERE next / 1000 < "+databaseNow)
	return tag.RowsAffected() == sweepBatch, err
}

// databaseNow is the clock of the database in milliseconds.
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
