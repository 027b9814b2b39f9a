package state

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	listenAgain = time.Second      // after the connection was lost
	stillThere  = 15 * time.Second // of silence, after which the connection is tried
)

// Watch implements Remote.
func (p *Postgres) Watch(ctx context.Context, changed func(id string)) {
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
func (p *Postgres) listen(ctx context.Context, changed func(id string)) {
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
	changed("")
	for {
		waiting, cancel := context.WithTimeout(ctx, stillThere)
		heard, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			if origin, id, _ := strings.Cut(heard.Payload, " "); origin != p.origin {
				changed(id)
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
