package state

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	listenAgain = time.Second      // after the connection was lost
	stillThere  = 15 * time.Second // of silence, after which the connection is tried
)

// longestNews is how many bytes can be told: https://www.postgresql.org/docs/current/sql-notify.html
const longestNews = 7999

// news is what those who watch are told of a change: who made it, and of what.
func (p *Postgres) news(kind, name string) string {
	if told := p.origin + " " + kind + " " + name; len(told) <= longestNews {
		return told
	}
	return p.origin // it may have been anything
}

// tell carries out the statement of a change, has those who watch told of it, unless it is quiet, and reports whether it was made.
func (p *Postgres) tell(ctx context.Context, r *Record, statement string, arguments ...any) (bool, error) {
	if !r.Quiet {
		arguments = append(arguments, p.channel, p.news(r.Kind, r.Name))
		statement += fmt.Sprintf(" RETURNING pg_notify($%d, $%d)", len(arguments)-1, len(arguments))
	}
	return p.changes(ctx, statement, arguments...)
}

// Watch implements Store.
func (p *Postgres) Watch(ctx context.Context, changed func(kind, name string)) {
	for ctx.Err() == nil {
		p.listen(ctx, changed)
		pause := time.NewTimer(listenAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// listen tells what is heard over one connection, until it is lost.
func (p *Postgres) listen(ctx context.Context, changed func(kind, name string)) {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(closing)
	}()
	if !carriesOut(ctx, conn, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()) {
		return
	}
	changed("", "")
	for {
		waiting, cancel := context.WithTimeout(ctx, stillThere)
		heard, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			if origin, of, _ := strings.Cut(heard.Payload, " "); origin != p.origin {
				kind, name, _ := strings.Cut(of, " ")
				changed(kind, name)
			}
		case ctx.Err() != nil || conn.IsClosed() || !carriesOut(ctx, conn, "SELECT 1"):
			return
		}
	}
}

func carriesOut(ctx context.Context, conn *pgx.Conn, statement string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := conn.Exec(ctx, statement)
	return err == nil
}
