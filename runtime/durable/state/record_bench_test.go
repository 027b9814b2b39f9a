package state_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// BenchmarkRecords works on one of 10,000 records of 3 KiB.
func BenchmarkRecords(b *testing.B) {
	for name, open := range map[string]func(*testing.B) state.Store{"sqlite": benchFile, "postgres": benchDatabase} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			defer s.Close()
			fill(b, s)
			for work, do := range map[string]func(ctx context.Context, i int) error{
				"Add":    func(ctx context.Context, i int) error { _, err := s.Add(ctx, another()); return err },
				"Record": func(ctx context.Context, i int) error { _, err := s.Record(ctx, "k", nameOf(i)); return err },
				"Holder": func(ctx context.Context, i int) error {
					_, err := s.ByUniqueKey(ctx, "k", "slot "+nameOf(i))
					return err
				},
				"Replace": func(ctx context.Context, i int) error { return replaceOne(ctx, s, i) },
				"List100": func(ctx context.Context, i int) error {
					return listOnly(ctx, s, state.Query{Kind: "k", Group: "pending", Limit: 100})
				},
				"Due": func(ctx context.Context, i int) error {
					return listOnly(ctx, s, state.Query{Kind: "k", Until: time.Now(), Limit: 100})
				},
				"Page100": func(ctx context.Context, i int) error {
					return listOnly(ctx, s, state.Query{Kind: "k", Group: "pending", After: pending(5000), Limit: 100})
				},
				"Count": func(ctx context.Context, i int) error { _, err := s.Count(ctx, "k", "pending"); return err },
			} {
				b.Run(work, func(b *testing.B) {
					for i := 0; b.Loop(); i++ {
						if err := do(b.Context(), i%many); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

const many = 10_000

func nameOf(i int) string { return fmt.Sprintf("%05d", i) }

// another returns a record that the store does not have.
func another() *state.Record {
	r := pending(0)
	r.Kind, r.Name, r.UniqueKey = "l", rand.Text(), rand.Text()
	return r
}

func pending(i int) *state.Record {
	body := make([]byte, 3<<10)
	rand.Read(body)
	return &state.Record{
		Kind: "k", Name: nameOf(i), UniqueKey: "slot " + nameOf(i), Group: "pending", Body: body,
		Due: time.UnixMilli(4e12 + int64(i)), Expires: time.Now().Add(time.Hour),
	}
}

func fill(b *testing.B, s state.Store) {
	b.Helper()
	for i := range many {
		if _, err := s.Add(b.Context(), pending(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func replaceOne(ctx context.Context, s state.Store, i int) error {
	r, err := s.Record(ctx, "k", nameOf(i))
	if err != nil {
		return err
	}
	_, err = s.Replace(ctx, r)
	return err
}

func listOnly(ctx context.Context, s state.Store, q state.Query) error {
	_, err := s.List(ctx, q)
	return err
}

// BenchmarkPace reserves an event.
func BenchmarkPace(b *testing.B) {
	for name, open := range map[string]func(*testing.B) state.Store{"sqlite": benchFile, "postgres": benchDatabase} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			defer s.Close()
			for b.Loop() {
				if _, _, err := s.Reserve(b.Context(), "x", state.Rate{Interval: time.Microsecond, Burst: 1, MaxWait: time.Hour}, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchFile(b *testing.B) state.Store { return openFile(b, filepath.Join(b.TempDir(), "state.db")) }

func benchDatabase(b *testing.B) state.Store {
	address, _ := postgrestest.Schema(b)
	return openDatabase(b, address)
}

// BenchmarkChanges makes the changes of an idempotency key, of a task, and of both kinds of tokens that
// resume a call.
func BenchmarkChanges(b *testing.B) {
	for name, open := range map[string]func(*testing.B) state.Store{"sqlite": benchFile, "postgres": benchDatabase} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			defer s.Close()
			check(b, s.Heartbeat(b.Context(), "me", time.Now().Add(time.Hour)))
			body := make([]byte, 300)
			for work, do := range map[string]func(r *state.Record){
				"idempotency key": func(r *state.Record) {
					r.UniqueKey, r.Owner, r.NoNotify = rand.Text(), "me", true
					add(b, s, r)
					r.Owner, r.Expires = "", r.Expires.Add(time.Minute)
					replace(b, s, r)
				},
				"task": func(r *state.Record) {
					r.Owner, r.NoNotify = "me", true
					add(b, s, r)
					r.NoNotify = false
					replace(b, s, r)
				},
				"consumed token": func(r *state.Record) {
					r.Body, r.NoNotify, r.Priority = nil, true, state.FollowUp
					add(b, s, r)
				},
				"stored token": func(r *state.Record) {
					r.NoNotify = true
					add(b, s, r)
					remove(b, s, must[*state.Record](b)(s.Record(b.Context(), r.Kind, r.Name)))
				},
			} {
				b.Run(work, func(b *testing.B) {
					for b.Loop() {
						do(&state.Record{Kind: work, Name: rand.Text(), Expires: time.Now().Add(time.Hour), Body: body})
					}
				})
			}
		})
	}
}

// BenchmarkAnnouncedChanges makes changes that three processes are told of, many at once in each of them: in one
// transaction with their NOTIFY over 8 connections each, as it was done once, and as a store makes them.
func BenchmarkAnnouncedChanges(b *testing.B) {
	all, db := processes(b, 3)
	var pools []*pgxpool.Pool
	for _, p := range all {
		announced, stop := watch(b, p.Postgres)
		go func() {
			for range announced {
			}
		}()
		defer close(announced)
		defer stop()
		pool := must[*pgxpool.Pool](b)(pgxpool.New(b.Context(), db.Config().ConnString()+"&pool_max_conns=8"))
		defer pool.Close()
		pools = append(pools, pool)
	}
	for _, callers := range []int{1, 16, 64} {
		for _, together := range []bool{true, false} {
			b.Run(fmt.Sprintf("callers=%d/inOneTransaction=%t", callers, together), func(b *testing.B) {
				var calling sync.WaitGroup
				turns := make(chan struct{})
				for i := range callers {
					process, pool := all[i%len(all)], pools[i%len(all)]
					r := &state.Record{
						Kind: "task", Name: rand.Text(), Expires: time.Now().Add(time.Hour), Body: make([]byte, 600),
					}
					add(b, process, r)
					calling.Go(func() {
						for range turns {
							if !together {
								replace(b, process, r)
								continue
							}
							const update = "UPDATE hatchel_records SET version = version + 1, body = $1 " +
								"WHERE kind = $2 AND name = $3 " +
								"RETURNING pg_notify('hatchel_' || 'hatchel_records'::regclass::oid, $3)"
							_, err := pool.Exec(b.Context(), update, r.Body, r.Kind, r.Name)
							check(b, err)
						}
					})
				}
				for b.Loop() {
					turns <- struct{}{}
				}
				close(turns)
				calling.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
			})
		}
	}
}
