package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// action runs one block.
type action struct {
	*block
	db  database
	log *slog.Logger
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	return &action{block: b, db: env.Connection.(database), log: env.Log}, nil
}

// Do runs the statements of the block as one transaction.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	var out map[string]any
	var err error
	switch {
	case a.Query != nil:
		out, err = a.query(ctx, call)
	case a.Exec != nil:
		out, err = a.exec(ctx, call)
	default:
		out, err = a.statement(ctx, call)
	}
	if err != nil {
		return adapters.Result{}, a.failure(ctx, err)
	}
	return adapters.Result{Value: out}, nil
}

// query reads.
func (a *action) query(ctx context.Context, call *adapters.Call) (map[string]any, error) {
	p := a.Query.Statements()[0]
	t := &table{limit: a.MaxRows}
	if a.Each == nil {
		e := execution{verb: p.Verb(), rows: t, rowsWanted: true, last: true}
		var err error
		if e.text, e.args, err = p.Bind(call.Frame, nil); err != nil {
			return nil, refusal{err}
		}
		if err := a.db.read(ctx, func(tx transaction) error { return tx.run(ctx, &e) }); err != nil {
			return nil, err
		}
		return rowsOf(t), nil
	}
	err := a.db.read(ctx, func(tx transaction) error {
		return a.elements(ctx, call.Frame, func(f *hcl.Frame) error {
			return a.bound(ctx, tx, p, f, &execution{verb: p.Verb(), rows: t, rowsWanted: true})
		})
	})
	if err != nil {
		return nil, err
	}
	return rowsOf(t), nil
}

// bound binds a statement for one element and runs it.
func (a *action) bound(ctx context.Context, tx transaction, p *sqltext.Program, f *hcl.Frame, e *execution) (err error) {
	if e.text, e.args, err = p.Bind(f, e.args[:0]); err != nil {
		return refusal{err}
	}
	return tx.run(ctx, e)
}

func rowsOf(t *table) map[string]any {
	return map[string]any{"rows": t, "row": t.first(), "truncated": t.truncated}
}

// exec changes something, and asks whether the outcome is accepted before it is final.
func (a *action) exec(ctx context.Context, call *adapters.Call) (map[string]any, error) {
	programs := a.Exec.Statements()
	results := make([]execution, len(programs))
	for i, p := range programs {
		results[i] = execution{verb: p.Verb(), rows: &table{limit: a.MaxRows}, rowsWanted: answers(p)}
	}
	var out map[string]any
	err := a.db.write(ctx, func(tx transaction) error {
		once := func(f *hcl.Frame) error {
			for i, p := range programs {
				before := results[i].affected
				if err := a.bound(ctx, tx, p, f, &results[i]); err != nil {
					return err
				}
				results[i].affected += before
			}
			return nil
		}
		var err error
		if a.Each == nil {
			err = once(call.Frame)
		} else {
			err = a.elements(ctx, call.Frame, once)
		}
		if err != nil {
			return err
		}
		out = a.outcome(results)
		return call.Accept(out)
	})
	return out, err
}

func (a *action) outcome(results []execution) map[string]any {
	if !a.Exec.Listed {
		out := map[string]any{"affected": results[0].affected, "last_id": results[0].lastID}
		if answers(a.Exec.Statements()[0]) {
			for name, v := range rowsOf(results[0].rows) {
				out[name] = v
			}
		}
		return out
	}
	list := make([]any, len(results))
	for i := range results {
		one := rowsOf(results[i].rows)
		one["affected"], one["last_id"] = results[i].affected, results[i].lastID
		list[i] = one
	}
	return map[string]any{"results": list}
}

// elements does something with the frame of every element of each.
func (a *action) elements(ctx context.Context, f *hcl.Frame, do func(*hcl.Frame) error) error {
	v, err := a.Each.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return refusal{err}
	}
	g := f.Fork(ctx)
	one := func(key, v any) error {
		g.Each = &hcl.Each{Key: key, Value: v}
		return do(g)
	}
	switch v := v.(type) {
	case nil:
	case []any:
		for i, elem := range v {
			if err := one(i, elem); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range value.Keys(v) {
			if err := one(key, v[key]); err != nil {
				return err
			}
		}
	default:
		return refusal{fmt.Errorf("each goes over a list or an object, and the value is %s", value.Kind(v))}
	}
	return nil
}

// A refusal is an error whose text is a sentence for the model.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// failure words what went wrong.
func (a *action) failure(ctx context.Context, err error) error {
	var said refusal
	var fault *adapters.Fault
	var down *unreachable
	switch {
	case errors.As(err, &fault):
		return err
	case errors.As(err, &said):
		return &adapters.Fault{Message: said.Error(), Cause: said.error}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &down):
		return &adapters.Fault{Message: fmt.Sprintf("the database %q is not reachable right now; try again later", a.connection), Cause: down.cause, Down: true}
	}
	return a.db.fault(err, a.Statement != nil)
}
