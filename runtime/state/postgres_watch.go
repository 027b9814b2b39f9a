package state

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/internal/ctxtime"
	"hatchel/runtime/postgres"
)

const (
	listenRetry    = time.Second      // pause after the connection was lost
	listenPing     = 15 * time.Second // of silence, after which the connection is checked
	maxPayloadSize = 7999             // bytes: https://www.postgresql.org/docs/current/sql-notify.html
)

// payload returns the announcement of a change: the origin, the kind and the name. Without a kind any
// record may have changed.
func (p *Postgres) payload(kind, name string) string {
	if full := p.origin + " " + kind + " " + name; len(full) <= maxPayloadSize {
		return full
	}
	return p.origin
}

func (p *Postgres) change(ctx context.Context, r *Record, statement string, arguments ...any) (bool, error) {
	if !r.NoNotify {
		arguments = append(arguments, p.channel, p.payload(r.Kind, r.Name))
		statement += fmt.Sprintf(" RETURNING pg_notify($%d, $%d)", len(arguments)-1, len(arguments))
	}
	return p.execute(ctx, statement, arguments...)
}

// Watch implements Store.
func (p *Postgres) Watch(ctx context.Context, changed func(kind, name string), attempted func(error)) {
	for ctx.Err() == nil {
		attempted(p.listen(ctx, changed, attempted))
		ctxtime.Sleep(ctx, listenRetry)
	}
}

// listen announces changes over one connection, and returns why the connection was lost.
func (p *Postgres) listen(ctx context.Context, changed func(kind, name string), attempted func(error)) error {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, conn)
	if err := executeOn(ctx, conn, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		return err
	}
	attempted(nil)
	changed("", "")
	for {
		waiting, cancel := context.WithTimeout(ctx, listenPing)
		notification, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			if origin, record, _ := strings.Cut(notification.Payload, " "); origin != p.origin {
				kind, name, _ := strings.Cut(record, " ")
				changed(kind, name)
			}
		case ctx.Err() != nil || conn.IsClosed():
			return err
		default:
			if err := executeOn(ctx, conn, "SELECT 1"); err != nil {
				return err
			}
		}
	}
}

func executeOn(ctx context.Context, conn *pgx.Conn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, statement)
	return err
}
